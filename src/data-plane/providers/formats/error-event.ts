import type { JsonObject } from '../../../common/core/exchange.js';
import { asArray, asObject } from './json-shape.js';

/** Is an event of a stream in OpenAI's format an error? Some servers send one without the `error` around it (vLLM). */
export function reportsError(name: string, event: JsonObject): boolean {
  if (name === 'error' || event['object'] === 'error') return true;
  const error = event['error'] ?? null;
  return error !== null && isFailure(error, event);
}

/** Some servers send an empty `error` with each event, which reports nothing. */
function isFailure(error: unknown, event: JsonObject): boolean {
  if (error === '' || error === 0 || error === false) return false;
  const members = asObject(error);
  const isEmpty = typeof error === 'object' && Object.keys(error as object).length === 0;
  if (isEmpty || !hasContent(event)) return !isEmpty;
  if (members === null) return typeof error === 'string' || typeof error === 'number';
  const { code, message } = members;
  const hasCode =
    (typeof code === 'string' && code !== '' && code !== '0') || (typeof code === 'number' && code !== 0);
  return hasCode || (typeof message === 'string' && message !== '');
}

/** Does an event contain a part of an answer, beside which an error must have a message or a code? */
const hasContent = ({ choices, candidates }: JsonObject): boolean =>
  (asArray(choices)?.length ?? 0) > 0 || (asArray(candidates)?.length ?? 0) > 0;
