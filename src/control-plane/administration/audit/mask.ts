import type { Message } from '../../../../proto/codec.js';
import type { FieldShape, Shape } from '../../../../proto/shape.js';
import { AdminError } from '../admin-error.js';

/**
 * What an update changes: paths of fields, `name`, `defaults.config_id`. A field that the mask names and the request
 * lacks is cleared; one that it does not name stays as it is.
 */

const isSingleMessage = (field: FieldShape): boolean => field.kind === 'message' && !field.list && !field.map;
const isObject = (value: unknown): value is Message =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The mask that a JSON body means: the fields that it has, inside of messages too. The body was read before. */
export function maskOfJson(shape: Shape, json: unknown, before = ''): string[] {
  if (!isObject(json)) return [];
  return Object.entries(json).flatMap(([spelling, value]) => {
    const field = shape.spelt(spelling);
    if (field === undefined) return [];
    const path = `${before}${field.name}`;
    if (isSingleMessage(field) && isObject(value)) return maskOfJson(field.message!, value, `${path}.`);
    return [path];
  });
}

/** The mask of a request without one: the fields that differ from their defaults. */
export function maskOfPresent(shape: Shape, message: Message, before = ''): string[] {
  return shape.fields.flatMap((field) => {
    const value = message[field.name];
    const path = `${before}${field.name}`;
    if (field.apart || value === undefined || value === null) return [];
    if (isSingleMessage(field)) return maskOfPresent(field.message!, value as Message, `${path}.`);
    if (field.list && (value as unknown[]).length === 0) return [];
    if (field.map && Object.keys(value).length === 0) return [];
    return field.optional || field.list || field.map ? [path] : [];
  });
}

/** Every path of a mask must be a field that may be changed. `*` means all of them. */
export function checkedMask(shape: Shape, mask: readonly string[]): string[] {
  if (mask.includes('*')) {
    return shape.fields
      .filter(({ apart, rules }) => !apart && rules.immutable !== true)
      .map(({ name }) => name);
  }
  for (const path of mask) {
    let at: Shape | null = shape;
    for (const name of path.split('.')) {
      const field: FieldShape | undefined = at?.field(name);
      if (field === undefined || field.apart)
        throw AdminError.field(
          'update_mask',
          `names ${JSON.stringify(path.slice(0, 80))}, which is no field to change.`,
        );
      if (field.rules.immutable === true) throw AdminError.field(path, 'cannot be changed.');
      at = isSingleMessage(field) ? field.message : null;
    }
  }
  return [...mask];
}

interface Update {
  readonly update_mask?: readonly string[] | null;
}

/**
 * What an update does to a field: `undefined` leaves it, `null` clears it, a value sets it. Lists and maps are cleared
 * by being empty. For a field of a message inside, its path: `defaults.config_id`.
 */
export function changeOf<T extends Update, K extends keyof T & string>(
  request: T,
  path: K,
): NonNullable<T[K]> | null | undefined;
export function changeOf<V>(request: Update, path: string): V | null | undefined;
export function changeOf(request: Update, path: string): unknown {
  const mask = request.update_mask ?? [];
  const isNamed = mask.some(
    (named) => named === path || named.startsWith(`${path}.`) || path.startsWith(`${named}.`),
  );
  if (!isNamed) return undefined;
  let value: unknown = request;
  for (const name of path.split('.')) value = (value as Record<string, unknown> | null | undefined)?.[name];
  return value ?? null;
}

/** The same for a field that cannot be without a value: `undefined` leaves it. Throws AB01 where it is cleared. */
export function setOf<T extends Update, K extends keyof T & string>(
  request: T,
  path: K,
): NonNullable<T[K]> | undefined {
  const value = changeOf(request, path);
  if (value === null) throw AdminError.field(path, 'cannot be cleared.');
  return value;
}
