import { scheduler } from 'node:timers/promises';
import type { Command } from 'commander';
import type { AdminClient } from '../../client/index.js';
import { CliError } from '../cli-error.js';
import { printable, writeErrorLine, writeJson, writeLine } from '../output/output.js';
import { cell } from '../output/show.js';
import { registerResource } from '../resource.js';
import { type SessionContext, type SessionOptions, withAdmin, withSession } from '../session.js';

type Mail = Awaited<ReturnType<AdminClient['api']['mail']['getMail']>>;

/** Mails that are tried again in one call of the command. */
const mostRetried = 1000;
/** How long a test mail is waited for, and how often its status is looked at. Milliseconds. */
const testMs = 60_000;
const lookMs = 300;

/** `headgate mail`. */
export function register(program: Command, context: SessionContext): void {
  const mail = registerResource(program, context, 'Mail', {
    TestMail: { isOwn: true },
    ListMails: {
      columns: [
        ['ID', (row) => cell(row['id'])],
        ['CREATED', (row) => cell(row['created_at']).slice(0, 19)],
        ['KIND', (row) => cell(row['kind'])],
        ['RECIPIENT', (row) => cell(row['recipient'])],
        ['STATUS', (row) => cell(row['status'])],
        ['ATTEMPTS', (row) => cell(row['attempts'])],
        ['ERROR', (row) => cell(row['error'])],
      ],
    },
  });

  const retry = mail
    .command('retry-failed')
    .summary('send all failed mails again')
    .description('send all failed mails again, now and for another 24 hours');
  withSession(retry, { workspace: false }).action((options: SessionOptions) =>
    withAdmin(context, options, async (client) => {
      const tried: Mail[] = [];
      for (const id of await failed(client)) tried.push(await client.api.mail.retryMail({ id }));
      if (options.json === true) writeJson(tried);
      else writeLine(`Mails that are sent again: ${tried.length}.`);
    }),
  );

  const test = mail
    .command('test')
    .summary('send a test mail, and wait for the mail server')
    .argument('<address>', 'Recipient of the mail.')
    .description(
      'send a test mail, and report whether the mail server has accepted it; exit code 1: it has not',
    );
  withSession(test, { workspace: false }).action((address: string, options: SessionOptions) =>
    withAdmin(context, options, async (client) => {
      const sent = await settled(client, await client.api.mail.testMail({ address }));
      if (options.json === true) writeJson(sent);
      if (sent.status === 'sent') {
        if (options.json !== true)
          writeLine(`The mail server has accepted the mail to ${printable(sent.recipient)}.`);
        return;
      }
      if (options.json === true) {
        process.exitCode = 1;
        return;
      }
      const reason = printable(sent.error ?? 'there was no attempt yet');
      if (sent.status === 'pending') writeErrorLine('It is tried again for 24 hours: headgate mail list.');
      throw new CliError(`The mail to ${printable(sent.recipient)} was not sent: ${reason}.`);
    }),
  );
}

async function failed(client: AdminClient): Promise<readonly string[]> {
  const { data } = await client.api.mail.listMails({ status: 'failed', page_size: mostRetried });
  return data.map(({ id }) => id);
}

/** The mail after it was sent, has failed, or a first try of it has. */
async function settled(client: AdminClient, mail: Mail): Promise<Mail> {
  const until = performance.now() + testMs;
  let last = mail;
  while (last.status === 'pending' && (last.error ?? null) === null && performance.now() < until) {
    await scheduler.wait(lookMs);
    last = await client.api.mail.getMail({ id: mail.id });
  }
  return last;
}
