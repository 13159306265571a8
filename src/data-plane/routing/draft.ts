import { isJsonObject, LosslessNumber } from '../../common/json/json.js';
import { nearest } from '../../common/text/nearest.js';
import { childPath, type Findings } from './findings.js';
import { maxListLength } from './guardrails/lists.js';
import { checkNode, type RuleContext } from './rules.js';
import { type Draft, isNode, type KeySet, keyAliases, knownKeys, laterKeys, nestedKeys } from './schema.js';
import { snakeCase } from './snake-case.js';

export interface ConfigLimits {
  /** Bytes of the text. */
  readonly maxBytes: number;
  /** Targets in all, strategies between them included. */
  readonly maxTargets: number;
  /** Levels, the root included. */
  readonly maxDepth: number;
}

/** Levels of JSON below `override_params`; forwarded bodies must stay below the gateway's own limit. */
const maxParamDepth = 60;

type Raw = Readonly<Record<string, unknown>>;

/** Reads a parsed config. Errors are added to `findings`; null: the root itself could not be read. */
export function readDraft(
  value: unknown,
  limits: ConfigLimits,
  rules: RuleContext,
  findings: Findings,
): Draft | null {
  return new DraftReader(limits, rules, findings).node(value, 'config', 1);
}

class DraftReader {
  #targets = 0;

  constructor(
    readonly limits: ConfigLimits,
    readonly rules: RuleContext,
    readonly findings: Findings,
  ) {}

  node(value: unknown, path: string, depth: number): Draft | null {
    if (!isJsonObject(value)) {
      this.findings.add(path, 'must be an object');
      return null;
    }
    const keys = this.#group(value, 'node', path);
    this.#metadata(keys, path);
    for (const name of ['default_params', 'override_params']) {
      if (isJsonObject(keys[name])) this.#params(keys[name], childPath(path, name), 1);
    }
    const given = keys['targets'];
    delete keys['targets'];
    const children = given === undefined ? null : this.#children(given, childPath(path, 'targets'), depth);
    const mirror = this.#mirror(keys['mirror'], childPath(path, 'mirror'), depth);
    if (!isNode(keys, path, this.findings)) return null;
    const draft = { path, fields: keys, children, mirror };
    checkNode(draft, this.rules, this.findings);
    return draft;
  }

  #children(value: unknown, path: string, depth: number): Draft[] {
    const { maxDepth, maxTargets } = this.limits;
    if (!Array.isArray(value) || value.length === 0) {
      this.findings.add(path, 'must be a list of at least one target');
      return [];
    }
    if (depth >= maxDepth) {
      this.findings.add(path, `is nested too deep: at most ${maxDepth} levels`);
      return [];
    }
    this.#targets += value.length;
    if (this.#targets > maxTargets) {
      this.findings.add(path, `makes too many targets: at most ${maxTargets} in all`);
      return [];
    }
    const children: Draft[] = [];
    for (let i = 0; i < value.length; i++) {
      const child = this.node(value[i], `${path}[${i}]`, depth + 1);
      if (child !== null) children.push(child);
    }
    return children.length === value.length ? children : [];
  }

  /** The known keys of `raw` in snake case, without a prototype; the others are reported. */
  #keys(raw: Raw, set: KeySet, path: string): Record<string, unknown> {
    const keys: Record<string, unknown> = Object.create(null);
    for (const given of Object.keys(raw)) {
      const snake = snakeCase(given);
      const key = keyAliases[set]?.get(snake) ?? snake;
      if (!knownKeys[set].has(key)) this.findings.add(childPath(path, given), this.#complaint(snake, set));
      else if (key in keys) this.findings.add(childPath(path, given), `gives ${key} a second time`);
      else keys[key] = plain(raw[given]);
    }
    return keys;
  }

  #complaint(key: string, set: KeySet): string {
    if (laterKeys[set]?.has(key) === true) return 'is not supported yet by this version';
    // Suggestions are expensive, so there are none for findings that are not shown.
    const meant =
      this.findings.full || key.length > 64
        ? null
        : nearest(key, [...knownKeys[set], ...(laterKeys[set] ?? [])]);
    return meant === null ? 'is not a known key' : `is not a known key: did you mean ${meant}?`;
  }

  /** An object of known keys with those inside it: snake case throughout, lists no longer than they may be. */
  #group(raw: Raw, set: KeySet, path: string): Record<string, unknown> {
    const keys = this.#keys(raw, set, path);
    // Too many targets are reported together with those of the other levels.
    for (const name of Object.keys(keys)) if (name !== 'targets') this.#list(keys, name, path);
    for (const name of nestedKeys[set] ?? []) {
      const value = keys[name];
      if (isJsonObject(value)) keys[name] = this.#group(value, name, childPath(path, name));
    }
    if (set === 'strategy' && Array.isArray(keys['conditions'])) {
      const at = childPath(path, 'conditions');
      keys['conditions'] = keys['conditions'].map((value: unknown, i) =>
        isJsonObject(value) ? this.#keys(value, 'condition', `${at}[${i}]`) : value,
      );
    }
    return keys;
  }

  /** The target of a mirror, removed from its keys. */
  #mirror(value: unknown, path: string, depth: number): Draft | null {
    if (!isJsonObject(value)) return null;
    const { target } = value;
    delete value['target'];
    const at = childPath(path, 'target');
    if (target === undefined) {
      this.findings.add(at, 'is required');
      return null;
    }
    const draft = this.node(target, at, depth + 1);
    if (draft !== null && (draft.children !== null || draft.mirror !== null)) {
      this.findings.add(at, 'must be one target, without targets and mirror of its own');
    }
    return draft;
  }

  /** A list above its limit is removed before its items are checked. */
  #list(keys: Record<string, unknown>, name: string, path: string): void {
    const value = keys[name];
    if (!Array.isArray(value) || value.length <= maxListLength) return;
    this.findings.add(childPath(path, name), `is too long: at most ${maxListLength} entries`);
    delete keys[name];
  }

  #metadata(keys: Record<string, unknown>, path: string): void {
    const value = keys['metadata'];
    if (!isJsonObject(value)) return;
    const names = Object.keys(value);
    if (names.length > 64) {
      this.findings.add(childPath(path, 'metadata'), 'must be an object of at most 64 texts');
      delete keys['metadata'];
      return;
    }
    const copy: Record<string, unknown> = Object.create(null);
    for (const name of names) copy[name] = value[name];
    keys['metadata'] = copy;
  }

  /** Frozen, since all calls share it; checks that it is not nested too deeply to be forwarded. */
  #params(value: object, path: string, depth: number): void {
    if (depth > maxParamDepth) {
      this.findings.add(path, `is nested too deep: at most ${maxParamDepth} levels`);
      return;
    }
    Object.freeze(value);
    if (value instanceof LosslessNumber) return;
    const list = Array.isArray(value);
    for (const [key, item] of Object.entries(value)) {
      if (item === null || typeof item !== 'object') continue;
      this.#params(item, list ? `${path}[${key}]` : childPath(path, key), depth + 1);
    }
  }
}

/** A number beyond a double's precision is out of range for every setting, so it may be rounded and is then refused. */
function plain(value: unknown): unknown {
  return value instanceof LosslessNumber ? Number(value.value) : value;
}
