/** Feedback that follows from a verdict. */
export interface GuardrailFeedback {
  /** -10 to 10. */
  readonly value: number;
  /** 0 to 1. */
  readonly weight: number;
  readonly metadata: string;
}

/** One check of a guardrail. */
export interface GuardrailRule {
  /** A row of `src/common/guardrails/guardrail-checks.ts`. */
  readonly check: string;
  /** Frozen, with the defaults of the check: the same object for all requests. */
  readonly parameters: Readonly<Record<string, unknown>>;
}

/** One version of a guardrail: a stored one, or one that is written in a config. Shared by all calls; never modified. */
export interface GuardrailRules {
  /** Slug of a stored guardrail; the path in the config of another. */
  readonly id: string;
  /** Identifies the version; for one written in a config the hash of its content. */
  readonly versionId: string;
  readonly type: 'guardrail' | 'mutator';
  /** Those that are enabled. */
  readonly rules: readonly GuardrailRule[];
  /** Refuse with 446 what does not pass? Otherwise it goes on with 246. */
  readonly deny: boolean;
  /** Run beside the request, without effect on it? */
  readonly async: boolean;
  /** Run one check after another? */
  readonly sequential: boolean;
  /** Answer what is denied with 200 and a refusal in place of 446? */
  readonly softDeny: boolean;
  /** Judge the answer of a stream while it comes, and not only at its end? */
  readonly incremental: boolean;
  readonly onSuccess: GuardrailFeedback | null;
  readonly onFail: GuardrailFeedback | null;
  /** Where the texts of passed-through bodies are: `messages[*].content`. */
  readonly passthroughPaths: readonly string[];
  /** Are passed-through calls let through whose text is not known? */
  readonly passthroughAllowed: boolean;
}

/** A stored guardrail, by its id or slug, with what a config sets in place of its own actions. */
export interface GuardrailReference {
  readonly name: string;
  readonly actions: Partial<
    Pick<GuardrailRules, 'deny' | 'async' | 'sequential' | 'softDeny' | 'incremental'>
  >;
}

export type GuardrailEntry = GuardrailReference | GuardrailRules;

/** The guardrails that a config names for requests to a target and for its answers. */
export interface TargetGuardrails {
  readonly before: readonly GuardrailEntry[];
  readonly after: readonly GuardrailEntry[];
}
