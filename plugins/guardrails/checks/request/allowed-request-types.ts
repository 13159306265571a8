import type { RequestCheck } from '../../check.js';

const none: readonly string[] = [];

const listOf = (given: unknown, fallback: string | undefined): readonly string[] => {
  if (Array.isArray(given) && given.length > 0) return given as string[];
  if (fallback === undefined) return none;
  return fallback.split(',').flatMap((name) => (name.trim() === '' ? [] : [name.trim()]));
};

/**
 * Is the endpoint of the request allowed, and not blocked? Without lists in the parameters those in the metadata count
 * (`supported_endpoints`, `blocked_endpoints`, names with commas between them); clients may write these.
 */
export const allowedRequestTypes: RequestCheck = {
  id: 'default.allowedRequestTypes',
  runs: 'request',
  run({ requestType, metadata }, parameters) {
    const allowedTypes = listOf(parameters['allowedTypes'], metadata['supported_endpoints']);
    const blockedTypes = listOf(parameters['blockedTypes'], metadata['blocked_endpoints']);
    const isBlocked = blockedTypes.includes(requestType);
    const isListed = allowedTypes.length === 0 || allowedTypes.includes(requestType);
    const data = () => {
      const why = isBlocked ? 'is blocked' : isListed ? 'is allowed' : 'is not among the allowed types';
      return { currentRequestType: requestType, explanation: `The request type ${requestType} ${why}.` };
    };
    return { verdict: !isBlocked && isListed, data };
  },
};
