/** Dollars for a million tokens. */
export interface DollarPrice {
  readonly input: number;
  readonly output: number;
  /** Input read from the provider's prompt cache; without it cached input costs what input does. */
  readonly cached?: number;
  /** Input written to the prompt cache, where that is billed apart. */
  readonly cacheWrite?: number;
  /** What the whole request costs once its input exceeds so many tokens. */
  readonly above?: { readonly tokens: number } & Omit<DollarPrice, 'above'>;
}

export interface PriceRow extends DollarPrice {
  /** The model's name without its date. */
  readonly model: string;
  /** `page`: read on the provider's own page. `list`: taken from a public price list, not compared with the page. */
  readonly seen: 'page' | 'list';
  /** Day of that reading. */
  readonly on: string;
}

/** The providers' own pages: what to check a row against. */
export const priceSources: Readonly<Record<string, string>> = {
  openai: 'https://developers.openai.com/api/docs/pricing',
  anthropic: 'https://platform.claude.com/docs/en/about-claude/pricing',
};

const listed = { seen: 'list', on: '2026-07-24' } as const;
const read = { seen: 'page', on: '2026-11-21' } as const;

/** OpenAI: over 272,000 tokens of input, twice the price for input and half as much again for output. */
const long = (input: number, cached: number, output: number, cacheWrite?: number): DollarPrice['above'] => ({
  tokens: 272_000,
  input: input * 2,
  cached: cached * 2,
  output: output * 1.5,
  ...(cacheWrite === undefined ? {} : { cacheWrite: cacheWrite * 2 }),
});

/**
 * Standard prices of well-known models, as a starting point: providers change them without notice, and a deployment
 * may have its own. What is not here has no price, rather than a guessed one.
 */
export const builtInPrices: Readonly<Record<string, readonly PriceRow[]>> = {
  openai: [
    {
      model: 'gpt-6-sol',
      input: 2,
      cached: 0.2,
      cacheWrite: 2.5,
      output: 10,
      above: long(2, 0.2, 10, 2.5),
      seen: 'list',
      on: '2026-09-22',
    },
    {
      model: 'gpt-6-luna',
      input: 0.1,
      cached: 0.01,
      cacheWrite: 0.125,
      output: 0.5,
      above: long(0.1, 0.01, 0.5, 0.125),
      seen: 'list',
      on: '2026-09-22',
    },
    {
      model: 'gpt-6-astra',
      input: 10,
      cached: 1,
      output: 50,
      above: long(10, 1, 50),
      seen: 'list',
      on: '2026-09-07',
    },
    {
      model: 'gpt-5.6',
      input: 5,
      cached: 0.5,
      cacheWrite: 6.25,
      output: 30,
      above: long(5, 0.5, 30, 6.25),
      ...listed,
    },
    {
      model: 'gpt-5.6-sol',
      input: 5,
      cached: 0.5,
      cacheWrite: 6.25,
      output: 30,
      above: long(5, 0.5, 30, 6.25),
      ...listed,
    },
    {
      model: 'gpt-5.6-terra',
      input: 2,
      cached: 0.2,
      cacheWrite: 2.5,
      output: 12,
      above: long(2, 0.2, 12, 2.5),
      seen: 'list',
      on: '2026-08-01',
    },
    {
      model: 'gpt-5.6-luna',
      input: 0.2,
      cached: 0.02,
      cacheWrite: 0.25,
      output: 1.2,
      above: long(0.2, 0.02, 1.2, 0.25),
      seen: 'list',
      on: '2026-08-01',
    },
    { model: 'gpt-5.5', input: 5, cached: 0.5, output: 30, above: long(5, 0.5, 30), ...listed },
    {
      model: 'gpt-5.5-pro',
      input: 30,
      output: 180,
      above: { tokens: 272_000, input: 60, output: 270 },
      ...listed,
    },
    { model: 'gpt-5.4', input: 2.5, cached: 0.25, output: 15, above: long(2.5, 0.25, 15), ...listed },
    { model: 'gpt-5.4-mini', input: 0.75, cached: 0.075, output: 4.5, ...listed },
    { model: 'gpt-5.4-nano', input: 0.2, cached: 0.02, output: 1.25, ...listed },
    {
      model: 'gpt-5.4-pro',
      input: 30,
      output: 180,
      above: { tokens: 272_000, input: 60, output: 270 },
      ...listed,
    },
    { model: 'gpt-5.3-codex', input: 1.75, cached: 0.175, output: 14, ...listed },
    { model: 'gpt-5.2', input: 1.75, cached: 0.175, output: 14, ...listed },
    { model: 'gpt-5.2-chat', input: 1.75, cached: 0.175, output: 14, ...listed },
    { model: 'gpt-5.2-codex', input: 1.75, cached: 0.175, output: 14, ...listed },
    { model: 'gpt-5.2-pro', input: 21, output: 168, ...listed },
    { model: 'gpt-5.1', input: 1.25, cached: 0.125, output: 10, ...listed },
    { model: 'gpt-5.1-chat', input: 1.25, cached: 0.125, output: 10, ...listed },
    { model: 'gpt-5.1-codex', input: 1.25, cached: 0.125, output: 10, ...listed },
    { model: 'gpt-5.1-codex-max', input: 1.25, cached: 0.125, output: 10, ...listed },
    { model: 'gpt-5.1-codex-mini', input: 0.25, cached: 0.025, output: 2, ...listed },
    { model: 'gpt-5', input: 1.25, cached: 0.125, output: 10, ...listed },
    { model: 'gpt-5-chat', input: 1.25, cached: 0.125, output: 10, ...listed },
    { model: 'gpt-5-codex', input: 1.25, cached: 0.125, output: 10, ...listed },
    { model: 'gpt-5-mini', input: 0.25, cached: 0.025, output: 2, ...listed },
    { model: 'gpt-5-nano', input: 0.05, cached: 0.005, output: 0.4, ...listed },
    { model: 'gpt-5-pro', input: 15, output: 120, ...listed },
    { model: 'gpt-4.1', input: 2, cached: 0.5, output: 8, ...listed },
    { model: 'gpt-4.1-mini', input: 0.4, cached: 0.1, output: 1.6, ...listed },
    { model: 'gpt-4.1-nano', input: 0.1, cached: 0.025, output: 0.4, ...listed },
    // The first dated gpt-4o kept its higher price.
    { model: 'gpt-4o-2024-05-13', input: 5, output: 15, ...listed },
    { model: 'gpt-4o', input: 2.5, cached: 1.25, output: 10, ...listed },
    { model: 'gpt-4o-mini', input: 0.15, cached: 0.075, output: 0.6, ...listed },
    { model: 'gpt-4-turbo', input: 10, output: 30, ...listed },
    { model: 'gpt-4', input: 30, output: 60, ...listed },
    { model: 'gpt-4-0613', input: 30, output: 60, ...listed },
    { model: 'gpt-3.5-turbo', input: 0.5, output: 1.5, ...listed },
    { model: 'gpt-3.5-turbo-0125', input: 0.5, output: 1.5, ...listed },
    { model: 'gpt-3.5-turbo-1106', input: 1, output: 2, ...listed },
    { model: 'gpt-3.5-turbo-instruct', input: 1.5, output: 2, ...listed },
    { model: 'o1', input: 15, cached: 7.5, output: 60, ...listed },
    { model: 'o1-pro', input: 150, output: 600, ...listed },
    { model: 'o3', input: 2, cached: 0.5, output: 8, ...listed },
    { model: 'o3-mini', input: 1.1, cached: 0.55, output: 4.4, ...listed },
    { model: 'o3-pro', input: 20, output: 80, ...listed },
    { model: 'o4-mini', input: 1.1, cached: 0.275, output: 4.4, ...listed },
    { model: 'text-embedding-3-small', input: 0.02, output: 0, ...listed },
    { model: 'text-embedding-3-large', input: 0.13, output: 0, ...listed },
    { model: 'text-embedding-ada-002', input: 0.1, output: 0, ...listed },
  ],
  // `cacheWrite` is the five-minute cache; an hour's is dearer, and usage does not say which it was.
  anthropic: [
    { model: 'claude-fable-5-1', input: 10, cached: 0.25, cacheWrite: 12.5, output: 50, ...read },
    { model: 'claude-mythos-5-1', input: 10, cached: 0.25, cacheWrite: 12.5, output: 50, ...read },
    { model: 'claude-fable-5', input: 10, cached: 1, cacheWrite: 12.5, output: 50, ...read },
    { model: 'claude-mythos-5', input: 10, cached: 1, cacheWrite: 12.5, output: 50, ...read },
    { model: 'claude-opus-5-5', input: 4, cached: 0.2, cacheWrite: 5, output: 20, ...read },
    { model: 'claude-opus-5', input: 5, cached: 0.5, cacheWrite: 6.25, output: 25, ...read },
    { model: 'claude-opus-4-8', input: 5, cached: 0.5, cacheWrite: 6.25, output: 25, ...read },
    { model: 'claude-opus-4-7', input: 5, cached: 0.5, cacheWrite: 6.25, output: 25, ...read },
    { model: 'claude-opus-4-6', input: 5, cached: 0.5, cacheWrite: 6.25, output: 25, ...read },
    { model: 'claude-opus-4-5', input: 5, cached: 0.5, cacheWrite: 6.25, output: 25, ...read },
    { model: 'claude-opus-4-1', input: 15, cached: 1.5, cacheWrite: 18.75, output: 75, ...read },
    { model: 'claude-opus-4', input: 15, cached: 1.5, cacheWrite: 18.75, output: 75, ...read },
    // Cache reads were halved on 2026-10-07, after the page that was read.
    {
      model: 'claude-sonnet-5-5',
      input: 2,
      cached: 0.1,
      cacheWrite: 2.5,
      output: 10,
      seen: 'list',
      on: '2026-10-24',
    },
    { model: 'claude-sonnet-5', input: 2, cached: 0.2, cacheWrite: 2.5, output: 10, ...read },
    { model: 'claude-sonnet-4-6', input: 3, cached: 0.3, cacheWrite: 3.75, output: 15, ...read },
    {
      model: 'claude-sonnet-4-5',
      input: 3,
      cached: 0.3,
      cacheWrite: 3.75,
      output: 15,
      above: { tokens: 200_000, input: 6, cached: 0.6, cacheWrite: 7.5, output: 22.5 },
      ...listed,
    },
    {
      model: 'claude-sonnet-4',
      input: 3,
      cached: 0.3,
      cacheWrite: 3.75,
      output: 15,
      above: { tokens: 200_000, input: 6, cached: 0.6, cacheWrite: 7.5, output: 22.5 },
      ...listed,
    },
    { model: 'claude-3-7-sonnet', input: 3, cached: 0.3, cacheWrite: 3.75, output: 15, ...read },
    { model: 'claude-3-5-sonnet', input: 3, cached: 0.3, cacheWrite: 3.75, output: 15, ...read },
    {
      model: 'claude-haiku-5-5',
      input: 0.1,
      cached: 0.01,
      cacheWrite: 0.125,
      output: 0.5,
      above: { tokens: 100_000, input: 0.5, cached: 0.05, cacheWrite: 0.625, output: 2.5 },
      seen: 'list',
      on: '2026-10-24',
    },
    { model: 'claude-haiku-4-5', input: 1, cached: 0.1, cacheWrite: 1.25, output: 5, ...read },
    { model: 'claude-3-5-haiku', input: 0.8, cached: 0.08, cacheWrite: 1, output: 4, ...read },
    { model: 'claude-3-opus', input: 15, cached: 1.5, cacheWrite: 18.75, output: 75, ...read },
    { model: 'claude-3-haiku', input: 0.25, cached: 0.03, cacheWrite: 0.3, output: 1.25, ...read },
  ],
};
