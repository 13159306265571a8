import type { Command } from 'commander';
import type { CostExplanation } from '../../client/index.js';
import { writeJson, writeLine } from '../output/output.js';
import { type SessionContext, type SessionOptions, withAdmin, withSession } from '../session.js';

type AttemptCost = CostExplanation['attempts'][number];

/** `headgate cost`. */
export function register(program: Command, context: SessionContext): void {
  const cost = program.command('cost').description('explain what a request cost, line by line');
  const explain = cost
    .command('explain <id>')
    .description(
      'what a request of the log used, times what it costs; exit code 1: the ledger has another sum',
    );
  withSession(explain, { workspace: false }).action((id: string, options: SessionOptions) =>
    withAdmin(context, options, async (client) => {
      const explained = await client.api.logs.explainCost({ id });
      if (options.json === true) writeJson(explained);
      else writeLine(picture(explained).join('\n'));
      if (!explained.matches) process.exitCode = 1;
    }),
  );
}

function picture({ id, attempts, cost, recorded_cost: recorded, matches, note }: CostExplanation): string[] {
  return [
    `request ${id}`,
    ...attempts.flatMap(attemptLines),
    `cost      ${dollars(cost)}`,
    `recorded  ${dollars(recorded)}${matches ? '' : '  (differs)'}`,
    ...(note == null ? [] : [note]),
  ];
}

function attemptLines(attempt: AttemptCost): string[] {
  const { target, provider, model, lines, cost, tier, long_input: isLong } = attempt;
  const kind = [tier, isLong ? 'long input' : null].filter((word) => word != null).join(', ');
  return [
    '',
    `${target}: ${provider}/${model ?? '?'}${kind === '' ? '' : ` (${kind})`}, ${priceOf(attempt)}`,
    ...lines.map(
      ({ quantity, rate, unit, unit_price: price, factor, cost: product }) =>
        `  ${String(quantity).padStart(10)} ${rate.padEnd(17)} × $${price} a ${unit} = $${product}${factor == null || factor === 1 ? '' : `  (price × ${factor})`}`,
    ),
    `  ${' '.repeat(10)} ${'sum'.padEnd(17)} ${dollars(cost)}`,
    '',
  ];
}

function priceOf(attempt: AttemptCost): string {
  const { model, priced_as: name, price_source: source, price_since: since } = attempt;
  if (source == null) return 'no price is known';
  const as = name === model ? '' : ` of ${name}`;
  const factor = attempt.lines.some((line) => line.factor != null && line.factor !== 1);
  const times = factor ? `, times the factors of the integration ${attempt.integration ?? ''}` : '';
  return `price${as} ${originOf(attempt, source)}${since == null ? '' : `, from ${since} on`}${times}`;
}

function originOf(
  { price_set_by: by, price_read_on: day, integration }: AttemptCost,
  source: string,
): string {
  if (by === 'integration') return `of the integration ${integration ?? ''}`;
  const read = day == null ? source : `read on ${day} at ${source}`;
  if (by === 'organisation') return source === by ? 'of the organisation' : `of the organisation, ${read}`;
  return source === 'settings' ? 'of the settings or prices.json' : read;
}

const dollars = (amount: string | null | undefined): string => (amount == null ? 'none' : `$${amount}`);
