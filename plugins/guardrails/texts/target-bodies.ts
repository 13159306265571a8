import type { Exchange, JsonObject } from '../../../src/common/core/exchange.js';
import type { Target } from '../../../src/common/core/target.js';

/** The request as some targets send it: with `default_params` and `override_params` of their config. */
export interface TargetBody {
  readonly targets: readonly Target[];
  readonly json: JsonObject;
  /** Members that are not the client's. */
  readonly given: readonly string[];
  /** The model, without the provider before it; null: none is named. */
  readonly model: string | null;
}

/** Those that differ from the client's body, each once. The body of a mirror counts as one of the target that has it. */
export function targetBodies(x: Exchange, targets: readonly Target[], json: JsonObject): TargetBody[] {
  const found: { params: Target; targets: Target[] }[] = [];
  for (const target of targets)
    for (const params of target.mirror === null ? [target] : [target, target.mirror.target]) {
      if (params.defaultParams === null && params.overrideParams === null) continue;
      const same = found.find(({ params: one }) => isSame(one, params));
      if (same === undefined) found.push({ params, targets: [target] });
      else same.targets.push(target);
    }
  return found.flatMap(({ params, targets: its }) => {
    const { defaultParams, overrideParams } = params;
    const added = Object.keys(defaultParams ?? {}).filter((key) => !Object.hasOwn(json, key));
    const given = [...added, ...Object.keys(overrideParams ?? {})];
    if (given.length === 0) return [];
    const body: Record<string, unknown> = { ...defaultParams, ...json, ...overrideParams };
    const named = overrideParams?.['model'] ?? x.modelAsked ?? defaultParams?.['model'];
    const model = typeof named === 'string' ? named.replace(/^@[^/]+\//, '') : null;
    if (x.endpoint.modelInPath === true) delete body['model'];
    return [{ targets: its, json: body, given, model }];
  });
}

const isSame = (one: Target, other: Target): boolean =>
  one.defaultParams === other.defaultParams && one.overrideParams === other.overrideParams;
