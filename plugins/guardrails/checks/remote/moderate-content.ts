import type { RemoteCheck } from '../../check.js';
import { isPlain } from '../request/values.js';
import { checkLength, failed, ServiceFailed } from './calls.js';

interface ModerateContent {
  readonly categories: readonly string[];
  readonly not: boolean;
  /** Absent: one of the request's own. */
  readonly provider?: string;
  readonly model: string;
}

/** Names that other providers have for categories. */
const otherNames: Readonly<Record<string, string>> = {
  hate_and_discrimination: 'hate',
  violence_and_threats: 'violence',
  selfharm: 'self-harm',
};

/** Categories that a provider has flagged in any text. */
function flaggedIn(results: readonly unknown[]): Set<string> {
  const flagged = new Set<string>();
  for (const result of results) {
    const categories = isPlain(result) ? result['categories'] : null;
    if (!isPlain(categories)) throw new ServiceFailed('The provider answered without categories.');
    for (const [name, isFlagged] of Object.entries(categories))
      if (isFlagged === true) flagged.add(otherNames[name] ?? name);
  }
  return flagged;
}

/** Passes where a provider's moderation flags none of the categories. */
export const moderateContent: RemoteCheck = {
  id: 'gateway.moderateContent',
  runs: 'remote',
  async run(context, parameters) {
    const { categories, not, provider = null, model } = parameters as unknown as ModerateContent;
    const texts = context.texts.filter((text) => text.trim() !== '');
    if (texts.length === 0) return { verdict: !not, data: { explanation: 'There is no text.' } };
    try {
      checkLength(context.text);
      const { results } = await context.moderate({ texts, provider, model });
      if (!Array.isArray(results) || results.length === 0)
        throw new ServiceFailed('The provider answered without results.');
      const flagged = flaggedIn(results);
      const found = categories.filter((category) => flagged.has(category));
      return { verdict: (found.length === 0) !== not, data: { found } };
    } catch (error) {
      return failed(error, 'The text could not be moderated.');
    }
  },
};
