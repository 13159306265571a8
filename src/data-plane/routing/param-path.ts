import { everyElement, type ParamPath } from '../../common/core/target.js';

const step = /(?:^|\.)([^.[\]]+)|\[(\d{1,6}|\*)\]/y;

/** Reads `tools[0].function.strict` or `messages[*].name`, the path of a parameter in a body; null: it is none. */
export function readParamPath(text: string): ParamPath | null {
  const path: ParamPath[number][] = [];
  step.lastIndex = 0;
  while (step.lastIndex < text.length) {
    const found = step.exec(text);
    if (found === null) return null;
    const [, key, index] = found;
    if (key !== undefined) path.push(key);
    else if (path.length === 0) return null;
    else path.push(index === '*' ? everyElement : Number(index));
  }
  return path.length === 0 ? null : Object.freeze(path);
}
