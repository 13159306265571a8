/** One feedback on a request. */
interface GivenFeedback {
  readonly value: number;
  /** 0 to 1. */
  readonly weight: number;
}

/** What guardrails record: `guardrail value * weight; …`. A weight outside of 0 to 1 counts as 1. */
export function feedbackIn(text: string | null): GivenFeedback[] {
  if (text === null) return [];
  return [...text.matchAll(/(-?[\d.]+) \* (-?[\d.]+)(?:; |$)/g)].map(([, value, given]) => {
    const weight = Number(given);
    return { value: Number(value), weight: weight >= 0 && weight <= 1 ? weight : 1 };
  });
}

type FeedbackSums = Readonly<Record<'feedback_count' | 'feedback_value' | 'feedback_weight', number | null>>;

const none: FeedbackSums = { feedback_count: null, feedback_value: null, feedback_weight: null };

/** Sums of the feedback of one request, as its row has them; null: there is none. */
export function feedbackSums(text: string | null): FeedbackSums {
  if (text === null) return none;
  const given = feedbackIn(text);
  if (given.length === 0) return none;
  return {
    feedback_count: given.length,
    feedback_value: given.reduce((sum, { value, weight }) => sum + value * weight, 0),
    feedback_weight: given.reduce((sum, { weight }) => sum + weight, 0),
  };
}
