import { isJsonObject } from '../../../common/json/json.js';
import {
  type BodyRules,
  boolean,
  type FieldCheck,
  integer,
  list,
  model,
  number,
  object,
  refuse,
  string,
} from './rules.js';

const documents: FieldCheck = (value, path) => {
  list(value, path, 1, Number.MAX_SAFE_INTEGER);
  for (let i = 0; i < value.length; i++) {
    const document = value[i];
    if (typeof document !== 'string' && !isJsonObject(document))
      refuse(`${path}[${i}]`, 'must be a string or an object with a text');
  }
};

const fieldNames: FieldCheck = (value, path) => {
  list(value, path, 0, Number.MAX_SAFE_INTEGER);
  for (let i = 0; i < value.length; i++) string(value[i], `${path}[${i}]`);
};

const query: FieldCheck = (value, path) => {
  string(value, path);
  if (value === '') refuse(path, 'must not be empty');
};

/** A rerank request. */
export const rerankRules: BodyRules = {
  required: ['model', 'query', 'documents'],
  open: true,
  fields: new Map<string, FieldCheck>([
    ['model', model],
    ['query', query],
    ['documents', documents],
    ['top_n', integer(1)],
    ['return_documents', boolean],
    ['max_tokens_per_doc', integer(1)],
    ['priority', number(Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER)],
    ['rank_fields', fieldNames],
    ['truncation', boolean],
    ['parameters', object],
  ]),
};
