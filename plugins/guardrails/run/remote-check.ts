import type { PartnerCredentials } from '../../../src/common/core/directory.js';
import type { Exchange } from '../../../src/common/core/exchange.js';
import type { GuardrailRule } from '../../../src/common/core/guardrail.js';
import type { HostWith } from '../../../src/common/plugin-host/plugin.js';
import type { CheckResult, RemoteCheck } from '../check.js';
import type { Moderations } from './moderations.js';
import type { Subject } from './subject.js';
import { failure } from './text-check.js';

const defaultTimeoutMs = 5000;

/** A check that asks another service, and what it is asked about. */
export interface RemoteRun {
  readonly x: Exchange;
  readonly check: RemoteCheck;
  readonly rule: GuardrailRule;
  readonly subject: Subject;
  readonly texts: readonly string[];
  /** null: the check needs none, or there are none. */
  readonly partner: PartnerCredentials | null;
}

/** Runs it. Never rejects, and takes no longer than its `timeout`. */
export async function runRemoteCheck(
  { host, moderations }: { readonly host: HostWith<'requests'>; readonly moderations: Moderations },
  { x, check, rule: { parameters }, subject, texts, partner }: RemoteRun,
): Promise<CheckResult> {
  const timeout = Number(parameters['timeout'] ?? parameters['timeoutMs'] ?? defaultTimeoutMs);
  const deadline = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      const error = new Error(`No answer within ${timeout} ms.`);
      error.name = 'TimeoutError';
      deadline.abort(error);
      reject(error);
    }, timeout);
  });
  const offAbort = x.onAbort((reason) => deadline.abort(reason));
  const { signal } = deadline;
  const own = texts === subject.texts ? {} : { texts, text: texts.join('\n') };
  try {
    const asked = check.run(
      {
        ...{ ...subject.context, headers: subject.context.headers, ...own, signal, partner },
        moderate: (request) => moderations.ask(x, request, timeout, signal),
        send: (request) => host.send(x, request, timeout, signal),
      },
      parameters,
    );
    // Whichever is late is not waited for, nor is its failure.
    asked.catch(() => {});
    return await Promise.race([asked, late]);
  } catch (thrown) {
    return failure(thrown);
  } finally {
    clearTimeout(timer);
    offAbort();
  }
}
