/**
 * What a Claude model accepts, by the version in its name. Read in openrouter.ai's Claude 4.7 migration guide
 * (sampling, adaptive thinking, xhigh) and NousResearch/hermes-agent#11137 (the refusals themselves); the output
 * limits, structured output and the refusal of temperature beside top_p are not checked against a live API. A wrong
 * guess shows as the provider's own 400, or as a field in the list of dropped ones.
 */
export interface ClaudeTraits {
  /** `max_tokens` where the client gave none: the field is mandatory. */
  readonly defaultMaxTokens: number;
  /** temperature, top_p and top_k; gone since Opus 4.7. */
  readonly sampling: boolean;
  /** temperature and top_p in one request; refused since Opus 4.1. */
  readonly temperatureWithTopP: boolean;
  /** `thinking.type: enabled` with a budget; gone since Opus 4.7. */
  readonly budgetThinking: boolean;
  /** `output_config.effort` and `thinking.type: adaptive`, since 4.6. */
  readonly effort: boolean;
  /** Is adaptive thinking what an effort means here? Of a model we do not know, we do not know. */
  readonly thinksByEffort: boolean;
  /** The effort `xhigh`, since Opus 4.7. */
  readonly xhigh: boolean;
  /** Shows what it thinks only where `thinking.display` asks for it, since Opus 4.7. */
  readonly hidesThinking: boolean;
  /** Thinks unless disabled, since 5. */
  readonly thinksByDefault: boolean;
  /** `output_config.format`, since Opus 4.1. */
  readonly structuredOutput: boolean;
}

/** An alias or another vendor's model: every field is sent, and the provider refuses what it does not support. */
const unknown: ClaudeTraits = {
  defaultMaxTokens: 4096,
  sampling: true,
  temperatureWithTopP: true,
  budgetThinking: true,
  effort: true,
  thinksByEffort: false,
  xhigh: true,
  hidesThinking: false,
  thinksByDefault: true,
  structuredOutput: true,
};

// claude-opus-4-7, claude-sonnet-4-20250514; and, older, claude-3-5-sonnet-20241022.
const versionAfterName = /claude-[a-z]+-(\d{1,2})(?:[-.](\d{1,2}))?(?!\d)/;
const versionBeforeName = /claude-(\d)(?:[-.](\d))?-[a-z]/;

/** Major times 100 plus minor; null where the name has no version. */
function versionOf(model: string): number | null {
  const found = versionAfterName.exec(model) ?? versionBeforeName.exec(model);
  return found === null ? null : Number(found[1]) * 100 + Number(found[2] ?? 0);
}

export function claudeTraits(model: string): ClaudeTraits {
  const version = versionOf(model);
  if (version === null) return unknown;
  return {
    // Models since 3.7 can write more, but input and max_tokens must fit the context window together, so a call that
    // asks for nothing gets no more than is sure to fit beside a long prompt.
    defaultMaxTokens: version < 305 ? 4096 : version < 307 ? 8192 : 32_000,
    sampling: version < 407,
    temperatureWithTopP: version < 401,
    budgetThinking: version >= 307 && version < 407,
    effort: version >= 406,
    thinksByEffort: version >= 406,
    xhigh: version >= 407,
    hidesThinking: version >= 407,
    thinksByDefault: version >= 500,
    structuredOutput: version >= 401,
  };
}
