import type { RequestCheck } from '../../check.js';
import { fits, type Operator } from './values.js';

/** Has the request's metadata all, any or none of the keys? */
export const requiredMetadataKeys: RequestCheck = {
  id: 'default.requiredMetadataKeys',
  runs: 'request',
  run({ metadata }, parameters) {
    const { metadataKeys, operator } = parameters as unknown as {
      readonly metadataKeys: readonly string[];
      readonly operator: Operator;
    };
    const found = metadataKeys.filter((key) => Object.hasOwn(metadata, key));
    const data = {
      operator,
      found_metadata_keys: found,
      missing_metadata_keys: metadataKeys.filter((key) => !found.includes(key)),
      explanation: `The metadata has ${found.length} of the ${metadataKeys.length} keys; ${operator} of them must be there.`,
    };
    return { verdict: fits(operator, found.length, metadataKeys.length), data };
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
    const wanted = Object.entries(metadataPairs);
    const found = wanted.filter(([key, value]) => Object.hasOwn(metadata, key) && metadata[key] === value);
    const keys = found.map(([key]) => key);
    const data = {
      operator,
      found_metadata_pairs: keys,
      missing_metadata_pairs: wanted.map(([key]) => key).filter((key) => !keys.includes(key)),
      explanation: `The metadata has ${found.length} of the ${wanted.length} pairs; ${operator} of them must be there.`,
    };
    return { verdict: fits(operator, found.length, wanted.length), data };
  },
};
