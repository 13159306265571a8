import type { PageRequest, Value } from '../../proto/messages.js';
import { AdminError } from './admin-error.js';

const deepest = 64;

/** What a google.protobuf.Value holds. */
export function fromValue(value: Value, depth = 0): unknown {
  if (depth > deepest) throw new AdminError('AB01', `The value is nested deeper than ${deepest} levels.`);
  if (value.stringValue !== undefined) return value.stringValue;
  if (value.numberValue !== undefined) return value.numberValue;
  if (value.boolValue !== undefined) return value.boolValue;
  if (value.listValue !== undefined) {
    return (value.listValue.values ?? []).map((item) => fromValue(item, depth + 1));
  }
  if (value.structValue === undefined) return null;
  const entries = Object.entries(value.structValue.fields ?? {});
  return Object.fromEntries(entries.map(([name, item]) => [name, fromValue(item, depth + 1)]));
}

/** Undefined where a nullable is null: how proto3 says absent. */
export const given = <T>(value: T | null): T | undefined => value ?? undefined;

/** The rows that a list request asks for. */
export function pageOf(request: PageRequest): { offset: number; limit: number } {
  const size = request.page_size || 50;
  const page = request.current_page ?? 0;
  if (size < 0) throw new AdminError('AB01', 'page_size must not be negative.');
  if (page < 0) throw new AdminError('AB01', 'current_page counts from 0.');
  const limit = Math.min(size, 1000);
  return { offset: page * limit, limit };
}

/** A required text of at most `most` characters, trimmed. */
export function textOf(field: string, value: string | undefined, most = 255): string {
  const text = value?.trim() ?? '';
  if (text === '') throw new AdminError('AB01', `${field} is required.`);
  if (text.length > most) throw new AdminError('AB01', `${field} must be at most ${most} characters long.`);
  return text;
}
