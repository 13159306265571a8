/** Freezes an object and all objects in it. A frozen object is skipped: its content was frozen first. */
export function deepFreeze(value: unknown): void {
  if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value) || Object.isFrozen(value))
    return;
  if (Array.isArray(value)) {
    // Not by its keys: an array of a million tokens has a million keys, which take 200 ms to create.
    for (let i = 0; i < value.length; i++) {
      const item: unknown = value[i];
      if (typeof item === 'object') deepFreeze(item);
    }
  } else {
    for (const key of Object.keys(value)) deepFreeze((value as Record<string, unknown>)[key]);
  }
  Object.freeze(value);
}
