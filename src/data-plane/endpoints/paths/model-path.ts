import type { Endpoint } from '../../../common/core/endpoint.js';
import { checkPassthroughPath } from './passthrough-path.js';

/** The list of models, and one of them. */
export const models: Endpoint = { name: 'models', format: 'none', body: 'stream' };

/** HEAD has the status and headers of the answer to GET. */
export const readingMethods: readonly string[] = ['GET', 'HEAD'];

const list = /^\/v1(?:beta)?\/models$/;
const one = /^\/v1(?:beta)?\/models\/(.+)$/s;

/** Is this the path of the list of models, or of one of them? Throws `invalid_request` for one that could climb. */
export function isModelPath(path: string): boolean {
  if (list.test(path)) return true;
  if (!one.test(path)) return false;
  // With a provider named it is passed on.
  checkPassthroughPath(path);
  return true;
}
