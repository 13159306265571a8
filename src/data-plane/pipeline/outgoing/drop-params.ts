import { everyElement, type ParamPath } from '../../../common/core/target.js';
import { isJsonObject } from '../../../common/json/json.js';

/** A body without these parameters, one path after the other; the same object where it has none of them. */
export function withoutParams<T>(body: T, paths: readonly ParamPath[]): T {
  let left: unknown = body;
  for (const path of paths) left = without(left, path, 0);
  return left as T;
}

/** Only the objects and lists along the path are copied; the rest is shared. */
function without(value: unknown, path: ParamPath, at: number): unknown {
  const step = path[at]!;
  const isLast = at === path.length - 1;
  if (step === everyElement) {
    if (!Array.isArray(value)) return value;
    if (isLast) return value.length === 0 ? value : [];
    const list = value.map((element) => without(element, path, at + 1));
    return list.some((element, i) => element !== value[i]) ? list : value;
  }
  if (Array.isArray(value)) {
    const index = Number(step);
    if (!Number.isInteger(index) || index >= value.length) return value;
    if (isLast) return value.toSpliced(index, 1);
    const element = without(value[index], path, at + 1);
    return element === value[index] ? value : value.with(index, element);
  }
  if (!isJsonObject(value) || typeof step !== 'string' || !Object.hasOwn(value, step)) return value;
  if (isLast) {
    const { [step]: _, ...rest } = value;
    return rest;
  }
  const member = without(value[step], path, at + 1);
  return member === value[step] ? value : { ...value, [step]: member };
}
