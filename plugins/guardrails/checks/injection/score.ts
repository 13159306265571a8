/** One sign of an attempt to override a model's instructions. */
export interface InjectionSign {
  readonly id: string;
  /** Alone 0.5 is enough for the usual threshold. */
  readonly weight: number;
  /** Bounded: each takes time linear in the text. */
  readonly pattern: RegExp;
}

const gap = String.raw`(?:[\s,]+\S{1,20}){0,4}[\s,]+`;
const sign = (id: string, weight: number, pattern: string, flags = 'iu'): InjectionSign => ({
  id,
  weight,
  pattern: new RegExp(pattern, flags),
});

/** In English, German, French, Spanish, Italian and Portuguese, where it is about words. */
export const signs: readonly InjectionSign[] = [
  sign(
    'ignore_instructions',
    0.7,
    String.raw`\b(?:ignore|disregard|forget|override|bypass|skip|drop)${gap}(?:instructions?|prompts?|rules|guidelines|directives|directions|policies|constraints)\b`,
  ),
  sign(
    'ignore_everything_before',
    0.6,
    String.raw`\b(?:ignore|disregard|forget)\s(?:everything|anything|all)\s(?:that\s)?(?:above|before|prior|previous|you(?:'ve| have| were)|i (?:said|told))`,
  ),
  sign(
    'ignore_instructions_other_languages',
    0.7,
    String.raw`(?:(?:ignorier|vergiss|missacht)\p{L}{0,4}${gap}(?:anweisung|instruktion|regel|vorgabe)|(?:ignore[zr]?|oublie[zr]?)${gap}(?:instructions|consignes|règles)|(?:ignora|olvida|omite)${gap}(?:instrucciones|reglas|indicaciones)|(?:ignora|dimentica)${gap}(?:istruzioni|regole)|(?:ignore|esqueça)${gap}(?:instruções|regras))`,
  ),
  sign(
    'new_instructions',
    0.4,
    String.raw`\b(?:new|updated|real|actual|true)\s(?:system\s)?(?:instructions?|prompt|rules)\s?(?::|are\b|follow)`,
  ),
  sign(
    'reveal_prompt',
    0.6,
    String.raw`\b(?:reveal|show|print|repeat|output|display|leak|dump|tell me|give me|what (?:is|are|was|were))${gap}(?:system prompt|initial prompt|(?:hidden|secret|initial|original|system) (?:instructions?|prompt|message)|your (?:instructions|prompt|rules))\b`,
  ),
  sign(
    'repeat_above',
    0.5,
    String.raw`\brepeat (?:the (?:words|text)|everything|all(?: of)?(?: the)?(?: text)?) (?:above|before this)`,
  ),
  sign(
    'role_override',
    0.5,
    String.raw`\b(?:you are (?:now|no longer)|from now on,? you(?:'re| are| will)|act as|pretend (?:to be|you are|that you)|roleplay as|simulate)${gap}(?:dan\b|unrestricted|unfiltered|uncensored|jailbroken|evil|without (?:any )?(?:restrictions|rules|limits|filters)|no (?:restrictions|rules|limits|filters)|developer mode|root|admin)`,
  ),
  sign(
    'jailbreak_name',
    0.6,
    String.raw`\b(?:do anything now|DAN mode|developer mode (?:enabled|on|output)|god ?mode|jailbreak(?:ed)? mode|STAN mode|AIM mode|evil ?bot|anti-?gpt)\b`,
  ),
  sign(
    'no_restrictions',
    0.4,
    String.raw`\b(?:without|no|free (?:of|from)|ignor\w{1,4}|disable|turn off|remove)\s(?:any |all |your |the )?(?:(?:safety|content|ethical|moral|security) )(?:restrictions?|filters?|guidelines|guardrails|measures|policies|limits?|constraints)\b`,
  ),
  sign(
    'fake_turn',
    0.5,
    String.raw`(?:^|\n)\s{0,8}(?:<\|(?:im_start|im_end|system|user|assistant|endoftext)\|>|\[/?INST\]|<</?SYS>>|###\s?(?:system|instruction|assistant)\b|(?:system|assistant)\s?(?:message|prompt)?\s?:\s)`,
  ),
  sign(
    'fake_marker',
    0.5,
    String.raw`<\|(?:im_start|im_end|system|endoftext|start_header_id|eot_id)\|>|\[INST\]|<<SYS>>|</?(?:system|assistant)(?:_prompt)?>`,
  ),
  sign(
    'pretended_authority',
    0.35,
    String.raw`\b(?:i am|i'm|this is) (?:your |the |an? )?(?:developer|creator|administrator|admin|openai|anthropic|system administrator)\b`,
  ),
  sign(
    'send_out',
    0.4,
    String.raw`\b(?:send|post|forward|upload|exfiltrate|append|include)${gap}(?:api[ _-]?keys?|passwords?|credentials|secrets|conversation|chat history|system prompt)${gap}(?:to|in|into)\b`,
  ),
  sign(
    'markdown_leak',
    0.4,
    String.raw`!\[[^\]]{0,100}\]\(https?://[^\s)]{1,300}[?&=][^\s)]{0,200}(?:\{|\$|%7B)`,
  ),
  sign(
    'do_not_tell',
    0.3,
    String.raw`\b(?:do not|don't|never) (?:tell|inform|mention|reveal|let)${gap}(?:user|anyone|them|this)\b`,
  ),
  sign(
    'encoded_command',
    0.3,
    String.raw`\b(?:decode|decrypt|base64|rot13)${gap}(?:and (?:then )?(?:follow|execute|run|do|obey))\b`,
  ),
  sign(
    'stay_in_character',
    0.25,
    String.raw`\b(?:stay in character|never break character|never refuse|cannot refuse|must (?:always )?(?:comply|obey)|you will comply)\b`,
  ),
];

/** Letters that look like Latin ones, and characters that are not seen. */
const invisible = /[\u00ad\u200b-\u200f\u2060-\u2064\ufeff]|\udb40[\udc00-\udc7f]/g;
const tagCharacters = /(?:\udb40[\udc20-\udc7e]){4,}/;
const spelled = /\b(?:[a-z][ .\-_*]){4,200}[a-z]\b/gi;
const maxLength = 262_144;

export interface InjectionScore {
  /** 0 to 1. */
  readonly score: number;
  readonly signs: readonly string[];
}

/** How much a text looks like an attempt to override a model's instructions. */
export function injectionScore(text: string): InjectionScore {
  const given = text.slice(0, maxLength);
  const found: string[] = [];
  let rest = 1;
  const count = (id: string, weight: number): void => {
    found.push(id);
    rest *= 1 - weight;
  };
  if (tagCharacters.test(given)) count('hidden_text', 0.6);
  const visible = given.normalize('NFKC').replace(invisible, '');
  // `i g n o r e` is read as a word: two spaces or a sign part the words.
  const read = visible.replace(spelled, (run) => run.replaceAll(/(?<=[a-z])[ .\-_*](?=[a-z])/gi, ''));
  for (const { id, weight, pattern } of signs) if (pattern.test(read)) count(id, weight);
  return { score: Math.round((1 - rest) * 100) / 100, signs: found };
}
