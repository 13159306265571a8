import type { Exchange, JsonObject } from '../../../common/core/exchange.js';
import type { ParamPath, Target } from '../../../common/core/target.js';
import { stringifyJson } from '../../../common/json/json.js';
import { editJsonBytes, type JsonEdit } from '../../../common/json/json-edit.js';
import { renamedBody } from '../../providers/client-formats/index.js';
import { withQuirks } from '../../providers/quirks.js';
import type { Address } from './address.js';
import { withoutParams } from './drop-params.js';

/**
 * A target's rules for bodies as edits of a JSON text, computed once per target. Of two for one member the later wins.
 */
interface BodyEdits {
  /** Applied only to members that the body lacks. */
  readonly defaults: readonly JsonEdit[];
  /** Paths that lead into a member of the body. */
  readonly inner: readonly ParamPath[];
  readonly overrides: readonly JsonEdit[];
  readonly drops: readonly JsonEdit[];
  /** Overrides and drops together, for the many targets without other rules. */
  readonly fixed: readonly JsonEdit[];
}

const editsOf = new WeakMap<Target, BodyEdits>();

function bodyEdits(given: Target): BodyEdits {
  const target = given.base ?? given;
  let edits = editsOf.get(target);
  if (edits === undefined) {
    const paths = target.dropParams ?? [];
    const inner = paths.filter((path) => path.length > 1);
    // Paths dropped inside a member that the target itself sets are removed from it in advance.
    const defaults = setMembers(withoutParams(target.defaultParams, inner));
    const overrides = setMembers(withoutParams(target.overrideParams, inner));
    const drops = paths.flatMap(([key, next]) =>
      typeof key === 'string' && next === undefined ? { key, value: null } : [],
    );
    edits = { defaults, inner, overrides, drops, fixed: [...overrides, ...drops] };
    editsOf.set(target, edits);
  }
  return edits;
}

const setMembers = (params: Target['overrideParams']): readonly JsonEdit[] =>
  Object.entries(params ?? {}).map(([key, value]) => ({ key, value: stringifyJson(value) }));

/**
 * For a provider of the client's format: the body where it has to be written again; null: its bytes suffice, with
 * edits.
 */
export function sameFormatJson(x: Exchange, target: Target, address: Address): JsonObject | null {
  const quirks = address.provider.quirks;
  if (quirks !== undefined && quirks.length > 0 && !target.passthrough) {
    return withQuirks(quirks, mergedBody(x, target, address));
  }
  if (x.endpoint.modelInPath !== true) return null;
  // Here the address contains the model, so no rule covers it.
  const json = x.request.json!;
  const model = otherModel(x, address);
  const body = model === null ? json : renamedBody(x.endpoint.format, json, model);
  if (body === json) return null;
  const merged = {
    ...withoutModel(target.defaultParams),
    ...body,
    ...withoutModel(target.overrideParams),
  };
  return withoutParams(merged, target.dropParams ?? []);
}

/** The model's name at this provider, if it differs. */
const otherModel = (x: Exchange, { model }: Address): string | null =>
  model !== x.modelAsked ? model : null;

/** The client's bytes, changed only where a rule applies. */
export function sameFormatBytes(x: Exchange, target: Target, address: Address): Buffer {
  const bytes = x.request.bytes!;
  if (x.endpoint.modelInPath === true) {
    const edits = editsFor(x.request.json!, target, null).filter(
      ({ key, value }) => key !== 'model' || value === null,
    );
    return edits.length === 0 ? bytes : editJsonBytes(bytes, edits);
  }
  const model = address.model === x.modelAsked ? null : address.model;
  if (
    model === null &&
    target.overrideParams === null &&
    target.defaultParams === null &&
    target.dropParams === null
  ) {
    return bytes;
  }
  return editJsonBytes(bytes, editsFor(x.request.json!, target, model));
}

/** Changes of the client's body before it is converted; empty: none. */
export function bodyEditsOf(x: Exchange, target: Target, address: Address): readonly JsonEdit[] {
  if (x.request.json === null) return [];
  const model = x.endpoint.modelInPath === true ? null : otherModel(x, address);
  return editsFor(x.request.json, target, model);
}

/** `model`: its name at the provider, if it differs. */
function editsFor(json: JsonObject, target: Target, model: string | null): readonly JsonEdit[] {
  const { defaults, inner, overrides, drops, fixed } = bodyEdits(target);
  if (model === null && defaults.length === 0 && inner.length === 0) return fixed;
  const edits: JsonEdit[] = defaults.filter(({ key }) => !Object.hasOwn(json, key));
  const left = withoutParams(json, inner);
  if (left !== json) {
    for (const key in left) {
      if (left[key] !== json[key]) edits.push({ key, value: stringifyJson(left[key]) });
    }
  }
  edits.push(...overrides);
  if (model !== null) edits.push({ key: 'model', value: JSON.stringify(model) });
  edits.push(...drops);
  return edits;
}

function withoutModel(params: Target['overrideParams']): JsonObject {
  const { model: _, ...rest } = params ?? {};
  return rest;
}

/**
 * The client's body with its target's changes, still in the client's format: the model is put where that format has it,
 * and nowhere where the address contains it.
 */
export function mergedBody(x: Exchange, target: Target, address: Address): JsonObject {
  // Separate for speed: V8 copies an object in one step only if nothing was spread before it.
  const body: JsonObject =
    target.defaultParams === null
      ? { ...x.request.json, ...target.overrideParams }
      : { ...target.defaultParams, ...x.request.json, ...target.overrideParams };
  if (address.model !== null && x.endpoint.modelInPath !== true) body['model'] = address.model;
  return target.dropParams === null ? body : withoutParams(body, target.dropParams);
}
