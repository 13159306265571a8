/** `usage` of an answer in OpenAI's format, as the provider of these tests reports it. */
export interface Report {
  readonly prompt_tokens: number;
  readonly completion_tokens: number;
  readonly total_tokens: number;
  readonly prompt_tokens_details?: {
    readonly cached_tokens?: number;
    readonly cache_write_tokens?: number;
    readonly audio_tokens?: number;
    readonly image_tokens?: number;
    readonly cached_tokens_details?: { readonly audio_tokens?: number };
  };
  readonly completion_tokens_details?: { readonly reasoning_tokens?: number; readonly audio_tokens?: number };
}

/** Picodollars for one of each, worked out by hand; what is missing costs what text does. */
interface Sheet {
  readonly input: bigint;
  readonly output: bigint;
  readonly cached?: bigint;
  readonly cacheWrite?: bigint;
  readonly audioInput?: bigint;
  readonly audioCached?: bigint;
  readonly imageInput?: bigint;
  readonly reasoning?: bigint;
  readonly audioOutput?: bigint;
  readonly request?: bigint;
  /** Of the whole request, once its prompt is longer than so many tokens. */
  readonly above?: readonly [number, Sheet];
  readonly tiers?: Readonly<Record<string, Sheet>>;
}

/** A dollar for a million tokens. */
const dollar = 1_000_000n;

/** As the setting `prices` has them, in dollars for a million tokens. */
export const settingPrices = {
  openai: {
    'fz-plain': { input: 150, output: 600, cached: 75 },
    'fz-kinds': {
      ...{ input: 1, output: 4, cached: 0.1, cache_write: 1.25, reasoning: 5, audio_input: 40 },
      ...{ audio_cached: 2.5, audio_output: 80, image_input: 8.000001 },
    },
    'fz-fee': { input: 0.000003, output: 2, request: 0.000000000007 },
    'fz-flat': { input: 0, output: 0, request: 0.02 },
    'fz-long': { input: 1, output: 2, above: { tokens: 500, input: 2, output: 3, cached: 0.5 } },
    'fz-tier': { input: 200, output: 800, tiers: { flex: 0.5, priority: { input: 400, output: 1600 } } },
  },
};

const plain: Sheet = { input: 150n * dollar, output: 600n * dollar, cached: 75n * dollar };
const sheets: Readonly<Record<string, Sheet>> = {
  'fz-plain': plain,
  'fz-kinds': {
    ...{ input: 1n * dollar, output: 4n * dollar, cached: 100_000n, cacheWrite: 1_250_000n },
    ...{ reasoning: 5n * dollar, audioInput: 40n * dollar, audioCached: 2_500_000n },
    ...{ audioOutput: 80n * dollar, imageInput: 8_000_001n },
  },
  'fz-fee': { input: 3n, output: 2n * dollar, request: 7n },
  'fz-flat': { input: 0n, output: 0n, request: 20_000_000_000n },
  'fz-long': {
    ...{ input: 1n * dollar, output: 2n * dollar },
    above: [500, { input: 2n * dollar, output: 3n * dollar, cached: 500_000n }],
  },
  'fz-tier': {
    ...{ input: 200n * dollar, output: 800n * dollar },
    tiers: {
      flex: { input: 100n * dollar, output: 400n * dollar },
      priority: { input: 400n * dollar, output: 1600n * dollar },
    },
  },
  // The price that is built in.
  'gpt-4o': { input: 2_500_000n, output: 10n * dollar, cached: 1_250_000n },
  'text-embedding-3-small': { input: 20_000n, output: 0n },
  // The price of the organisation, of which there is a dearer one from tomorrow on.
  'fz-contract': { input: 2n * dollar, output: 8n * dollar },
};
/** Of calls through the integration: prices of its own, and half of others' input at twice their output. */
const lent: Readonly<Record<string, Sheet>> = {
  'fz-own': { input: 1n * dollar, output: 2n * dollar },
  'fz-plain': { input: 75n * dollar, output: 1200n * dollar, cached: 37_500_000n },
};

/** Models that a request may ask for; `fz-none` has no price. */
export const models = [...Object.keys(sheets).filter((name) => name.startsWith('fz-')), 'gpt-4o', 'fz-none'];
export const lentModels = Object.keys(lent);

/** Picodollars; null: the model has no price. */
export function billOf(report: Report, model: string, isLent: boolean, tier: string | null): bigint | null {
  const listed = (isLent ? lent : sheets)[model];
  if (listed === undefined) return null;
  const ofTier = (tier === null ? undefined : listed.tiers?.[tier]) ?? listed;
  const sheet =
    ofTier.above !== undefined && report.prompt_tokens > ofTier.above[0] ? ofTier.above[1] : ofTier;
  const { prompt_tokens_details: prompt, completion_tokens_details: completion } = report;
  const cached = prompt?.cached_tokens ?? 0;
  const cachedSound = prompt?.cached_tokens_details?.audio_tokens ?? 0;
  const written = prompt?.cache_write_tokens ?? 0;
  const sound = (prompt?.audio_tokens ?? 0) - cachedSound;
  const pictures = prompt?.image_tokens ?? 0;
  const reasoning = completion?.reasoning_tokens ?? 0;
  const spoken = completion?.audio_tokens ?? 0;
  const cachedRate = sheet.cached ?? sheet.input;
  const lines: readonly (readonly [number, bigint])[] = [
    [report.prompt_tokens - cached - written - sound - pictures, sheet.input],
    [cached - cachedSound, cachedRate],
    [cachedSound, sheet.audioCached ?? cachedRate],
    [written, sheet.cacheWrite ?? sheet.input],
    [sound, sheet.audioInput ?? sheet.input],
    [pictures, sheet.imageInput ?? sheet.input],
    [report.completion_tokens - reasoning - spoken, sheet.output],
    [reasoning, sheet.reasoning ?? sheet.output],
    [spoken, sheet.audioOutput ?? sheet.output],
    [1, sheet.request ?? 0n],
  ];
  return lines.reduce((sum, [tokens, rate]) => sum + BigInt(tokens) * rate, 0n);
}

/** Nanodollars, as budgets count a try: rounded up. */
export const nanosOf = (picos: bigint): bigint => (picos + 999n) / 1000n;
