import { seeded } from '../seeded.js';
import { lentModels, models, type Report } from './prices.js';

/** What the provider does with one call. */
export interface Behaviour {
  readonly kind: 'answer' | 'error' | 'reset' | 'cut' | 'silent' | 'nonsense';
  readonly status: number;
  /** Milliseconds until its head, and between the pieces of a stream. */
  readonly headMs: number;
  readonly pieceMs: number;
  readonly pieces: number;
  readonly report: Report;
  readonly tier: string | null;
}

export type Way =
  | 'single'
  | 'fallback'
  | 'retry'
  | 'hedge'
  | 'mirror'
  | 'balance'
  | 'late'
  | 'simple'
  | 'semantic';

/** A request of the load. */
export interface Case {
  readonly name: string;
  readonly way: Way;
  readonly key: number;
  readonly team: string;
  readonly model: string;
  readonly targets: readonly string[];
  readonly isStream: boolean;
  readonly maxTokens: number | null;
  readonly words: number;
  /** Calls that share answers have the same; null: it is its own. */
  readonly question: string | null;
  /** Milliseconds after which its client disconnects; null: it stays. */
  readonly leavesAfter: number | null;
}

/** Keys of which every request says how long its answer may be, and whose provider keeps to that. */
export const boundedKeys = 3;
export const keyCount = 6;
export const teams = ['red', 'blue', 'a-b%c'];
export const plainTargets = ['p0', 'p1', 'p2'];
export const lentTarget = 'lent';
export const deadTarget = 'dead';
export const mirrorTarget = 'copy';
export const embedTarget = 'embed';

export interface Dice {
  readonly below: (end: number) => number;
  readonly chance: (share: number) => boolean;
  readonly one: <T>(of: readonly T[]) => T;
}

export function diceOf(seed: number): Dice {
  const random = seeded(seed);
  const below = (end: number): number => Math.floor(random() * end);
  return { below, chance: (share) => random() < share, one: (of) => of[below(of.length)]! };
}

/** The same number for the same text. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  return hash;
}

const ways: readonly Way[] = [
  ...(['single', 'single', 'single', 'fallback', 'fallback', 'retry', 'retry', 'hedge', 'hedge'] as const),
  ...(['mirror', 'balance', 'late', 'simple', 'simple', 'semantic', 'semantic'] as const),
];

export function casesOf(seed: number, count: number): Case[] {
  const dice = diceOf(seed);
  return Array.from({ length: count }, (_, i) => caseOf(dice, `c${i}`));
}

function caseOf(dice: Dice, name: string): Case {
  const way = dice.one(ways);
  const key = dice.below(keyCount);
  const isShared = way === 'simple' || way === 'semantic';
  const isLent = !isShared && (way === 'single' || way === 'retry') && dice.chance(0.4);
  const targets = dice.chance(0.5) ? [...plainTargets] : [...plainTargets].reverse();
  if (way === 'fallback' && dice.chance(0.3)) targets.unshift(deadTarget);
  const isBounded = key < boundedKeys;
  return {
    ...{ name, way, key },
    team: dice.one(teams),
    model: isShared ? 'fz-plain' : dice.one(isLent ? lentModels : models),
    targets: isShared ? [plainTargets[0]!] : isLent ? [lentTarget] : targets,
    isStream: dice.chance(0.5),
    maxTokens: isShared ? 64 : isBounded || dice.chance(0.5) ? 1 + dice.below(300) : null,
    words: isShared ? 4 : 4 + dice.below(60),
    question: isShared ? `${way}-${dice.below(8)}` : null,
    leavesAfter: dice.chance(0.12) ? dice.below(120) : null,
  };
}

/** What `target` does when it is called with this request for the nth time, from 0. */
export function behaviourOf(seed: number, asked: Case, target: string, nth: number): Behaviour {
  const who = asked.question ?? asked.name;
  const dice = diceOf(hashOf(`${seed}/${who}/${target}/${nth}`));
  const isFirst = target === asked.targets[0] && nth === 0;
  const mayFail = asked.question === null && (isFirst || dice.chance(0.3));
  const failing = asked.way === 'fallback' || asked.way === 'retry' ? 0.6 : 0.15;
  const kind = !mayFail || !dice.chance(failing) ? 'answer' : dice.one(['error', 'error', 'reset'] as const);
  const odd = kind === 'answer' && asked.question === null && target !== mirrorTarget && dice.chance(0.15);
  const isSlow =
    (asked.way === 'hedge' && isFirst && dice.chance(0.7)) || (asked.way === 'late' && nth === 0);
  const isBounded = asked.key < boundedKeys || asked.question !== null;
  return {
    kind: odd ? dice.one(['cut', 'silent', 'nonsense'] as const) : kind,
    status: dice.one([500, 429, 503, 400]),
    headMs: isSlow ? 150 + dice.below(200) : dice.below(30),
    pieceMs: dice.below(8),
    pieces: 1 + dice.below(8),
    report: reportOf(dice, asked, isBounded),
    // Of `gpt-4o`, the tiers have prices that are built in.
    tier: dice.one(
      asked.model === 'gpt-4o' ? [null] : [null, null, 'flex', isBounded ? 'default' : 'priority'],
    ),
  };
}

function reportOf(dice: Dice, { words, maxTokens }: Case, isBounded: boolean): Report {
  const upTo = (end: number): number => dice.below(end + 1);
  // The wild ones have sound, pictures and caches of any size.
  const most = dice.one([10, 700, 5000, 1_000_000]);
  const prompt = isBounded ? 1 + upTo(words) : upTo(most);
  const completion = isBounded ? upTo(maxTokens ?? 0) : upTo(most);
  const sum = { prompt_tokens: prompt, completion_tokens: completion, total_tokens: prompt + completion };
  if (dice.chance(0.4)) return sum;
  const cached = upTo(prompt);
  const written = dice.chance(0.3) ? upTo(prompt - cached) : 0;
  const cachedSound = dice.chance(0.3) ? upTo(cached) : 0;
  const sound = dice.chance(0.4) ? upTo(prompt - cached - written) : 0;
  const pictures = dice.chance(0.4) ? upTo(prompt - cached - written - sound) : 0;
  const spoken = dice.chance(0.4) ? upTo(completion) : 0;
  return {
    ...sum,
    prompt_tokens_details: {
      ...{ cached_tokens: cached, audio_tokens: sound + cachedSound, image_tokens: pictures },
      ...(written > 0 && { cache_write_tokens: written }),
      ...(cachedSound > 0 && { cached_tokens_details: { audio_tokens: cachedSound } }),
    },
    completion_tokens_details: { reasoning_tokens: upTo(completion - spoken), audio_tokens: spoken },
  };
}

/** The question of a request; those of one `question` have the same meaning, and in the semantic mode other words. */
export const textOf = ({ way, question, name, words }: Case): string =>
  question === null
    ? 'word '.repeat(words).trim()
    : way === 'simple'
      ? `Question ${question}`
      : `Question ${question} as ${name}`;
