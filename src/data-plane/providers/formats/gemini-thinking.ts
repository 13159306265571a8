import type { JsonObject } from '../../../common/core/exchange.js';
import type { CanonicalRequest } from '../provider.js';
import { invalid } from './anthropic-content.js';
import type { GeminiTraits } from './gemini-models.js';
import { asObject, asString } from './json-shape.js';

/** Efforts as levels, and as the budgets that Google's own OpenAI-shaped endpoint gives them (ai.google.dev/gemini-api/docs/openai). */
const efforts: Readonly<Record<string, { readonly level: string; readonly budget: number }>> = {
  minimal: { level: 'minimal', budget: 1024 },
  low: { level: 'low', budget: 1024 },
  medium: { level: 'medium', budget: 8192 },
  high: { level: 'high', budget: 24_576 },
  xhigh: { level: 'high', budget: 24_576 },
  max: { level: 'high', budget: 24_576 },
};

/** `thinking`, `reasoning_effort` and Gemini's own `thinking_config` → one `thinkingConfig`. */
export function addThinking(
  request: CanonicalRequest,
  config: JsonObject,
  traits: GeminiTraits,
  dropped: string[],
): void {
  const own = asObject(request['thinking_config']);
  const out: JsonObject = { ...asObject(config['thinkingConfig']), ...own };
  const thinking = asObject(request['thinking']);
  const effort = request['reasoning_effort'];
  const settled = own !== null || setByClient(out);
  if (thinking !== null) {
    if (traits.thinking === 'none' || settled) dropped.push('thinking');
    else addExplicit(thinking, out, traits, dropped);
  }
  if (effort !== undefined && effort !== null) {
    if (traits.thinking === 'none' || settled || setByClient(out)) dropped.push('reasoning_effort');
    else addEffort(effort, out, traits, dropped);
  }
  // Gemini refuses requests for thoughts of a model that does not think.
  const isOff = traits.thinking === 'none' || out['thinkingBudget'] === 0;
  if (request['show_thinking'] === true && !isOff) out['includeThoughts'] ??= true;
  if (Object.keys(out).length > 0) config['thinkingConfig'] = out;
}

const setByClient = (config: JsonObject): boolean =>
  ['thinkingBudget', 'thinkingLevel', 'thinking_budget', 'thinking_level'].some((key) => key in config);

function addExplicit(thinking: JsonObject, out: JsonObject, traits: GeminiTraits, dropped: string[]): void {
  if (thinking['type'] === 'disabled') return least(out, traits, 'thinking', dropped);
  out['includeThoughts'] = thinking['display'] !== 'omitted';
  const budget = thinking['budget_tokens'];
  if (typeof budget === 'number') out['thinkingBudget'] = budget;
}

function addEffort(effort: unknown, out: JsonObject, traits: GeminiTraits, dropped: string[]): void {
  if (effort === 'none') return least(out, traits, 'reasoning_effort', dropped);
  const name = asString(effort);
  const known = name !== null && Object.hasOwn(efforts, name) ? efforts[name] : undefined;
  if (known === undefined)
    throw invalid('reasoning_effort', `must be none or one of ${Object.keys(efforts).join(', ')}.`);
  if (traits.thinking === 'level') out['thinkingLevel'] = nearest(known.level, traits.levels).toUpperCase();
  else out['thinkingBudget'] = known.budget;
}

/** Not every model can leave it altogether: then what was asked for is named as not done. */
function least(out: JsonObject, traits: GeminiTraits, field: string, dropped: string[]): void {
  if (traits.thinking === 'level') {
    out['thinkingLevel'] = traits.levels[0]?.toUpperCase();
    dropped.push(field);
  } else {
    out['thinkingBudget'] = traits.leastBudget;
    if (traits.leastBudget > 0) dropped.push(field);
  }
}

const order = ['minimal', 'low', 'medium', 'high'];

/** The level itself where the model has it, else the next one above. */
function nearest(level: string, levels: readonly string[]): string {
  const from = order.indexOf(level);
  return order.slice(from).find((name) => levels.includes(name)) ?? level;
}
