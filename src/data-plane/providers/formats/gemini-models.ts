/**
 * What a Gemini model accepts, by the version in its name (ai.google.dev/gemini-api/docs/thinking, /structured-output
 * and /thought-signatures). A wrong guess shows as the provider's own 400.
 */
export interface GeminiTraits {
  /** Schemas as JSON Schema (`responseJsonSchema`, `parametersJsonSchema`), since 2.5; before, a subset of OpenAPI's. */
  readonly jsonSchema: boolean;
  /** `budget`: tokens, 2.5. `level`: a word, since 3. */
  readonly thinking: 'none' | 'budget' | 'level';
  /** The least thinking there is: 0 tokens is none at all. */
  readonly leastBudget: number;
  /** In rising order. */
  readonly levels: readonly string[];
  /** Refuses a tool call of the turn under way that has no thought signature, since 3. */
  readonly signsCalls: boolean;
}

/** An alias (`gemini-flash-latest`) or a tuned model: budgets are understood by all that think. */
const unknown: GeminiTraits = {
  jsonSchema: true,
  thinking: 'budget',
  leastBudget: 0,
  levels: [],
  signsCalls: false,
};

const allLevels = ['minimal', 'low', 'medium', 'high'] as const;

export function geminiTraits(model: string): GeminiTraits {
  if (/gemma/.test(model)) return { ...unknown, thinking: 'none' };
  const version = /gemini-(\d+)(?:\.(\d+))?/.exec(model);
  if (version === null) return unknown;
  const number = Number(version[1]) + Number(version[2] ?? 0) / 10;
  const pro = /-pro\b/.test(model);
  if (number < 2.5) return { ...unknown, jsonSchema: false, thinking: 'none' };
  if (number < 3) return { ...unknown, leastBudget: pro ? 128 : 0 };
  return { ...unknown, thinking: 'level', levels: levelsOf(number, pro), signsCalls: true };
}

function levelsOf(version: number, pro: boolean): readonly string[] {
  if (!pro) return allLevels;
  return version === 3 ? ['low', 'high'] : ['low', 'medium', 'high'];
}
