import type { Exchange, JsonObject } from '../core/exchange.js';
import { stringifyJson } from '../core/json.js';
import { editJsonBytes, type JsonEdit } from '../core/json-edit.js';
import type { Target } from '../core/target.js';
import { geminiRenamed } from '../providers/doors/gemini-model.js';
import { withQuirks } from '../providers/quirks.js';
import type { Address } from './address.js';

/** A target's override_params as edits of a JSON text, made once per target. */
const editsOf = new WeakMap<Target, readonly JsonEdit[]>();

function overrideEdits(target: Target): readonly JsonEdit[] {
  let edits = editsOf.get(target);
  if (edits === undefined) {
    edits = Object.entries(target.overrideParams ?? {}).map(([key, value]) => ({
      key,
      value: stringifyJson(value),
    }));
    editsOf.set(target, edits);
  }
  return edits;
}

/** The client's bytes; edited only where a rule changes something, every other byte as it came. */
export function sameFormatBody(x: Exchange, target: Target, address: Address): Buffer {
  const bytes = x.request.bytes!;
  const quirks = address.provider.quirks;
  if (quirks !== undefined && quirks.length > 0) {
    return Buffer.from(stringifyJson(withQuirks(quirks, mergedBody(x, target, address))));
  }
  const renamed = address.model !== null && address.model !== x.modelAsked;
  if (x.endpoint.modelInPath === true) return bodyBesideModel(x, target, renamed ? address.model : null);
  if (target.overrideParams === null && !renamed) return bytes;
  let edits = overrideEdits(target);
  if (renamed) {
    edits = [
      ...edits.filter((edit) => edit.key !== 'model'),
      { key: 'model', value: JSON.stringify(address.model) },
    ];
  }
  return editJsonBytes(bytes, edits);
}

/** The same where the model stands in the address. `model`: its other name, where it has one. */
function bodyBesideModel(x: Exchange, target: Target, model: string | null): Buffer {
  const json = x.request.json!;
  const body = model === null ? json : geminiRenamed(json, model);
  if (body !== json) return Buffer.from(stringifyJson({ ...body, ...withoutModel(target.overrideParams) }));
  const edits = overrideEdits(target).filter((edit) => edit.key !== 'model');
  return edits.length === 0 ? x.request.bytes! : editJsonBytes(x.request.bytes!, edits);
}

function withoutModel(params: Target['overrideParams']): JsonObject {
  const { model: _, ...rest } = params ?? {};
  return rest;
}

/** The client's body with what its target says, still in the client's format. */
export function mergedBody(x: Exchange, target: Target, address: Address): JsonObject {
  const body: JsonObject = { ...x.request.json, ...target.overrideParams };
  if (address.model !== null) body['model'] = address.model;
  return body;
}
