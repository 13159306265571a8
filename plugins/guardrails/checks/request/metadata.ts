import type { RequestCheck } from '../../check.js';
import { lookFor, type Operator } from '../operator.js';

/** Has the request's metadata all, any or none of the keys? */
export const requiredMetadataKeys: RequestCheck = {
  id: 'default.requiredMetadataKeys',
  runs: 'request',
  run({ metadata }, parameters) {
    const { metadataKeys, operator } = parameters as unknown as {
      readonly metadataKeys: readonly string[];
      readonly operator: Operator;
    };
    const { found, missing, fits } = lookFor(metadataKeys, operator, (key) => Object.hasOwn(metadata, key));
    const data = () => ({
      operator,
      found_metadata_keys: found,
      missing_metadata_keys: missing,
      explanation: `The metadata has ${found.length} of the ${metadataKeys.length} keys; ${operator} of them must be there.`,
    });
    return { verdict: fits, data };
  },
};

/** Has the request's metadata all, any or none of the keys with their values? */
export const requiredMetadataKeyPairs: RequestCheck = {
  id: 'default.requiredMetadataKeyPairs',
  runs: 'request',
  run({ metadata }, parameters) {
    const { metadataPairs = {}, operator } = parameters as unknown as {
      readonly metadataPairs?: Readonly<Record<string, string>>;
      readonly operator: Operator;
    };
    const wanted = Object.keys(metadataPairs);
    const has = (key: string): boolean =>
      Object.hasOwn(metadata, key) && metadata[key] === metadataPairs[key];
    const { found, missing, fits } = lookFor(wanted, operator, has);
    const data = () => ({
      operator,
      found_metadata_pairs: found,
      missing_metadata_pairs: missing,
      explanation: `The metadata has ${found.length} of the ${wanted.length} pairs; ${operator} of them must be there.`,
    });
    return { verdict: fits, data };
  },
};
