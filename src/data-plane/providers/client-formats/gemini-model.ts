import type { JsonObject } from '../../../common/core/exchange.js';
import { asArray, asObject } from '../formats/json-shape.js';

/**
 * A body of the Gemini API for a model of another name. The name is in the address, but some bodies contain it once
 * more, and then it must be the same. The body itself where it does not.
 */
export function geminiRenamed(body: JsonObject, model: string): JsonObject {
  const named = model.includes('/') ? model : `models/${model}`;
  const out: JsonObject = { ...body };
  let says = false;
  if (body['model'] !== undefined) {
    out['model'] = named;
    says = true;
  }
  const whole = asObject(body['generateContentRequest']);
  if (whole !== null) {
    out['generateContentRequest'] = { ...whole, model: named };
    says = true;
  }
  const requests = asArray(body['requests']);
  if (requests !== null) {
    out['requests'] = requests.map((request) => ({ ...asObject(request), model: named }));
    says = true;
  }
  return says ? out : body;
}
