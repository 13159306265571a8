import type { JsonObject } from '../../../common/core/exchange.js';
import { numberOf } from '../../../common/json/json.js';
import type { CanonicalRequest } from '../provider.js';
import { invalid } from './anthropic-content.js';
import type { ClaudeTraits } from './claude-models.js';
import { asObject } from './json-shape.js';

/** What the rest of a request has to do with thinking. */
export interface ThinkingTurn {
  /** The longest answer that was asked for; a number as it came. */
  readonly maxTokens: unknown;
  /** Must a tool be called? */
  readonly forcesTool: boolean;
  /** Do results follow of tools that were called without thinking? */
  answersUnthoughtTools(): boolean;
}

export interface Thinking {
  /** `thinking` as Claude has it; null: left out. */
  readonly thinking: JsonObject | null;
  /** `output_config.effort`; null: left out. */
  readonly effort: string | null;
}

const efforts: Readonly<Record<string, string>> = {
  minimal: 'low',
  low: 'low',
  medium: 'medium',
  high: 'high',
  xhigh: 'xhigh',
  max: 'max',
};

/** Tokens of thinking for models that are given a budget; 1024 is the least they take. */
const budgets: Readonly<Record<string, number>> = {
  low: 1024,
  medium: 4096,
  high: 16_384,
  xhigh: 24_576,
  max: 24_576,
};

/** `thinking` and `reasoning_effort` as this Claude takes them, on whichever platform it runs. */
export function claudeThinking(
  request: CanonicalRequest,
  traits: ClaudeTraits,
  turn: ThinkingTurn,
  dropped: string[],
): Thinking {
  const chosen = chosenThinking(request, traits, turn, dropped);
  const { thinking } = chosen;
  const isShown = request['show_thinking'] === true && traits.hidesThinking;
  if (!isShown || thinking === null || thinking['type'] === 'disabled') return chosen;
  return { ...chosen, thinking: { display: 'summarized', ...thinking } };
}

function chosenThinking(
  request: CanonicalRequest,
  traits: ClaudeTraits,
  turn: ThinkingTurn,
  dropped: string[],
): Thinking {
  const given = asObject(request['thinking']);
  const thinking = given === null ? null : explicitThinking(given, traits, dropped);
  const effort = request['reasoning_effort'];
  if (effort === undefined || effort === null) return { thinking, effort: null };
  if (effort === 'none') {
    const off = given === null && traits.thinksByDefault;
    return { thinking: off ? { type: 'disabled' } : thinking, effort: null };
  }
  let level = typeof effort === 'string' ? efforts[effort] : undefined;
  if (level === undefined)
    throw invalid('reasoning_effort', `must be none or one of ${Object.keys(efforts).join(', ')}.`);
  if (traits.effort) {
    if (level === 'xhigh' && !traits.xhigh) level = 'high';
    const adapts = given === null && traits.thinksByEffort && !turn.forcesTool;
    return { thinking: adapts ? { type: 'adaptive' } : thinking, effort: level };
  }
  if (given !== null) return { thinking, effort: null };
  const budget = Math.min(budgets[level] as number, (turn.maxTokens as number) - 1);
  // A hint gives way to what was asked for outright: a forced tool, a short answer, or a tool turn without its thinking.
  if (!traits.budgetThinking || !(budget >= 1024) || turn.forcesTool || turn.answersUnthoughtTools()) {
    dropped.push('reasoning_effort');
    return { thinking: null, effort: null };
  }
  return { thinking: { type: 'enabled', budget_tokens: budget }, effort: null };
}

function explicitThinking(thinking: JsonObject, traits: ClaudeTraits, dropped: string[]): JsonObject | null {
  const type = thinking['type'];
  if (type === 'enabled' && !traits.budgetThinking) {
    if (!traits.effort) {
      dropped.push('thinking');
      return null;
    }
    const { budget_tokens: budget, ...rest } = thinking;
    if (budget !== undefined) dropped.push('thinking.budget_tokens');
    return { ...rest, type: 'adaptive' };
  }
  // Models before 5 are off by default, and some refuse the field.
  if (type === 'disabled' && !traits.thinksByDefault) return null;
  return { ...thinking };
}

/** Numbers as received; null: left out. */
export interface Sampling {
  readonly temperature: unknown;
  readonly topP: unknown;
  readonly topK: unknown;
}

/** `temperature`, `top_p` and `top_k` as far as this Claude takes them beside this `thinking`. */
export function claudeSampling(
  request: CanonicalRequest,
  traits: ClaudeTraits,
  thinking: JsonObject | null,
  dropped: string[],
): Sampling {
  const mode = thinking?.['type'];
  const thinks = mode !== undefined && mode !== 'disabled';
  let temperature = request['temperature'] ?? null;
  let topP = request['top_p'] ?? null;
  let topK = request['top_k'] ?? null;
  const alone = temperature === null || traits.temperatureWithTopP;
  if (temperature !== null) {
    // 1 is the default of both sides and the only temperature at which Claude thinks.
    if (traits.sampling && !(thinks && temperature !== 1)) {
      if ((numberOf(temperature) ?? 0) > 1) temperature = 1;
    } else {
      if (temperature !== 1) dropped.push('temperature');
      temperature = null;
    }
  }
  if (topP !== null && !(traits.sampling && alone && !(thinks && typeof topP === 'number' && topP < 0.95))) {
    if (topP !== 1) dropped.push('top_p');
    topP = null;
  }
  if (topK !== null && !(traits.sampling && !thinks)) {
    dropped.push('top_k');
    topK = null;
  }
  return { temperature, topP, topK };
}
