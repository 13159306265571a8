import type { UsageAnswer, UsageQuestion } from '../question.js';
import { conditionsOf } from './conditions.js';
import { type AnalyticsDatabase, number, Placeholders } from './dialect.js';

/** Quantities as `quantitiesOf` in `common/prices/price.ts` has them: a part that exceeds what it is part of counts up to that. */
interface Step {
  readonly name: string;
  readonly of: string;
}

const atLeast0 = (expression: string): string => `greatest(0, ${expression})`;
const least = (a: string, b: string): string => `least(${a}, ${b})`;

/** Each as a column that the ones after it may name. */
const steps = (kind: (name: string) => string): readonly (readonly Step[])[] => [
  [
    { name: 'q_audio_cached', of: least('cached', kind('audioCached')) },
    { name: 'q_hour', of: least('cache_write', kind('cacheWriteHour')) },
    { name: 'q_plain', of: atLeast0('input - cached - cache_write') },
    { name: 'q_audio_output', of: least('output', kind('audioOutput')) },
  ],
  [
    { name: 'q_image_cached', of: least('cached - q_audio_cached', kind('imageCached')) },
    { name: 'q_audio_input', of: least('q_plain', atLeast0(`${kind('audioInput')} - q_audio_cached`)) },
    { name: 'q_image_output', of: least('output - q_audio_output', kind('imageOutput')) },
  ],
  [
    {
      name: 'q_image_input',
      of: least('q_plain - q_audio_input', atLeast0(`${kind('imageInput')} - q_image_cached`)),
    },
    { name: 'q_reasoning', of: least('output - q_audio_output - q_image_output', 'reasoning') },
  ],
];

const quantities = (kind: (name: string) => string): Readonly<Record<string, string>> => ({
  input: 'q_plain - q_audio_input - q_image_input',
  cached: 'cached - q_audio_cached - q_image_cached',
  cacheWrite: 'cache_write - q_hour',
  cacheWriteHour: 'q_hour',
  audioInput: 'q_audio_input',
  audioCached: 'q_audio_cached',
  imageInput: 'q_image_input',
  imageCached: 'q_image_cached',
  output: 'output - q_audio_output - q_image_output - q_reasoning',
  reasoning: 'q_reasoning',
  audioOutput: 'q_audio_output',
  imageOutput: 'q_image_output',
  character: kind('characters'),
  second: kind('seconds'),
  request: '1',
});

/** Adds up what requests used, by all that a price depends on. */
export async function askUsage(question: UsageQuestion, database: AnalyticsDatabase): Promise<UsageAnswer> {
  const values = new Placeholders();
  const where = conditionsOf(question, values, database);
  const kind = (name: string): string => database.usageKind(name);
  let from = `(SELECT * FROM ${database.source()} AS requests WHERE ${where}) AS requests`;
  for (const [i, columns] of steps(kind).entries())
    from = `(SELECT *, ${columns.map(({ name, of }) => `${of} AS ${name}`).join(', ')} FROM ${from}) AS step_${i}`;
  const long = question.longInputs.map(
    (tokens) => `CASE WHEN input > ${Math.trunc(tokens)} THEN 1 ELSE 0 END`,
  );
  const named = Object.entries(quantities(kind));
  const rows = await database.rows(
    `SELECT provider, model, integration, provider_slug IS NOT NULL AS is_stored, ${database.usageTier()} AS tier,
        ${number(long.length === 0 ? '0' : long.join(' + '))} AS long_input, is_used,
        ${number('count(*)')} AS requests, ${number('coalesce(sum(cost), 0)')} AS cost,
        ${number('count(*) - count(cost)')} AS unpriced,
        ${named.map(([name, of]) => `${number(`coalesce(sum(${of}), 0)`)} AS "${name}"`).join(', ')}
      FROM ${from} GROUP BY 1, 2, 3, 4, 5, 6, 7`,
    values.list,
  );
  return {
    groups: rows.map((row) => ({
      provider: textOf(row['provider']),
      model: textOf(row['model']),
      integration: textOf(row['integration']),
      isStored: Boolean(row['is_stored']),
      tier: textOf(row['tier']),
      longInput: Number(row['long_input']),
      isUsed: Boolean(row['is_used']),
      requests: Number(row['requests']),
      cost: Number(row['cost']),
      unpriced: Number(row['unpriced']),
      quantities: Object.fromEntries(named.map(([name]) => [name, Number(row[name])])),
    })),
  };
}

const textOf = (value: unknown): string | null => (typeof value === 'string' ? value : null);
