type Container = Record<PropertyKey, unknown>;

/** Plain objects and lists. Numbers that JavaScript cannot hold are objects of a class of their own, and are values here. */
function isContainer(value: unknown): value is Container {
  if (typeof value !== 'object' || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === Array.prototype || prototype === null;
}

const copyOf = (base: Container): Container =>
  (Array.isArray(base) ? base.slice() : { ...base }) as Container;

/** A part of a value that is being changed: a copy is made when something in it is read or changed. */
class Draft {
  copy: Container | null = null;
  isChanged = false;

  constructor(
    readonly base: Container,
    readonly session: { isOver: boolean },
  ) {}

  get latest(): Container {
    return this.copy ?? this.base;
  }

  own(): Container {
    if (this.session.isOver)
      throw new TypeError('The body can be changed only until the function of edit has returned.');
    this.copy ??= copyOf(this.base);
    return this.copy;
  }

  change(): Container {
    const copy = this.own();
    this.isChanged = true;
    return copy;
  }
}

const drafts = new WeakMap<object, Draft>();

/** Its target is empty, so that no invariant of frozen properties holds for it. */
const handler = (draft: Draft): ProxyHandler<Container> => ({
  get(_target, key) {
    const value = draft.latest[key];
    if (!isContainer(value) || !Object.hasOwn(draft.latest, key) || value !== draft.base[key]) return value;
    const child = proxyOf(new Draft(value, draft.session));
    draft.own()[key] = child;
    return child;
  },
  set(_target, key, value) {
    draft.change()[key] = value;
    return true;
  },
  has: (_target, key) => key in draft.latest,
  deleteProperty: (_target, key) => Reflect.deleteProperty(draft.change(), key),
  defineProperty: (_target, key, property) => Reflect.defineProperty(draft.change(), key, property),
  ownKeys: () => Reflect.ownKeys(draft.latest),
  getOwnPropertyDescriptor(target, key) {
    const found = Reflect.getOwnPropertyDescriptor(draft.latest, key);
    if (found === undefined) return undefined;
    const configurable = !(key === 'length' && Array.isArray(target));
    return {
      value: this.get!(target, key, target),
      writable: true,
      enumerable: found.enumerable === true,
      configurable,
    };
  },
});

function proxyOf(draft: Draft): Container {
  const empty = (Array.isArray(draft.base) ? [] : {}) as Container;
  const proxy = new Proxy(empty, handler(draft));
  drafts.set(proxy, draft);
  return proxy;
}

/** What a draft has become; what was not changed is the original. */
function finished(value: unknown): unknown {
  if (!isContainer(value)) return value;
  const draft = drafts.get(value);
  if (draft === undefined) {
    // A frozen part is one of the original.
    if (!Object.isFrozen(value)) finishIn(value, value);
    return value;
  }
  const { base, copy } = draft;
  if (copy === null) return base;
  const isChanged = finishIn(copy, base);
  draft.copy = draft.isChanged || isChanged ? copy : null;
  return draft.latest;
}

/** Puts what they have become in the place of drafts. Does any of them differ from the original? */
function finishIn(value: Container, base: Container): boolean {
  let isChanged = false;
  for (const key of Object.keys(value)) {
    const child = value[key];
    if (!isContainer(child)) continue;
    const last = finished(child);
    if (last !== child) value[key] = last;
    if (last !== base[key]) isChanged = true;
  }
  return isChanged;
}

/**
 * What `change` makes of a value of JSON, in place or as its result; the value itself stays as it is. Only parts that
 * `change` looks into are copied, so that a change of a body of many megabytes costs as much as one of a short one.
 */
export function edited<T extends object>(
  base: T,
  change: ((draft: T) => T | undefined) | ((draft: T) => void),
): T {
  const session = { isOver: false };
  const draft = proxyOf(new Draft(base as unknown as Container, session));
  try {
    const made: unknown = change(draft as unknown as T);
    return finished(made ?? draft) as T;
  } finally {
    session.isOver = true;
  }
}
