interface Node<T> {
  readonly literal: Map<string, Node<T>>;
  any: Node<T> | null;
  value: T | null;
  /** For this path and every path under it that has no value of its own. */
  rest: T | null;
}

const node = <T>(): Node<T> => ({ literal: new Map(), any: null, value: null, rest: null });

/** The first segment, or the one after the version where there is one: `/v1/configs/x` → `v1/configs`. */
function headOf(path: string): string {
  const from = path.startsWith('/v1/') ? 4 : 1;
  const end = path.indexOf('/', from);
  return path.slice(1, end < 0 ? path.length : end);
}

/** The end of a template for a path and everything under it: `/v1/prompts/**`. */
const subtree = '/**';

/**
 * Path templates with parameters, `/v1/configs/{slug}`, each with a value. A path without a template is recognised
 * by one look-up in a map, whatever the number of templates. A literal segment always wins over a parameter: if
 * `/things/export` and `/things/{id}` are templates, `export` is never an id, however the path continues.
 */
export class PathTable<T> {
  readonly #heads = new Map<string, Node<T>>();

  /**
   * The value of a template, created at its first use. A template that ends with `/**` also covers every longer
   * path that matches no other template. Throws for a template without a literal head.
   */
  at(template: string, make: () => T): T {
    const isSubtree = template.endsWith(subtree);
    const path = isSubtree ? template.slice(0, -subtree.length) : template;
    const head = headOf(path);
    if (head.includes('{')) throw new Error(`${template}: the first segment of a path is literal.`);
    let place = this.#heads.get(head) ?? node<T>();
    this.#heads.set(head, place);
    for (const segment of segmentsBehind(path, head)) {
      if (segment.startsWith('{')) {
        place.any ??= node();
        place = place.any;
        continue;
      }
      const next = place.literal.get(segment) ?? node<T>();
      place.literal.set(segment, next);
      place = next;
    }
    if (isSubtree) {
      place.rest ??= make();
      return place.rest;
    }
    place.value ??= make();
    return place.value;
  }

  /** The matching template, literal segments before parameters, and the values of its parameters; null: none. */
  find(path: string): { readonly value: T; readonly captured: readonly string[] } | null {
    const head = headOf(path);
    let place = this.#heads.get(head);
    if (place === undefined) return null;
    let rest = place.rest;
    const captured: string[] = [];
    for (const segment of segmentsBehind(path, head)) {
      const literal: Node<T> | undefined = place.literal.get(segment);
      const next: Node<T> | null = literal ?? place.any;
      if (next === null) return covered(rest);
      if (literal === undefined) captured.push(segment);
      place = next;
      rest = place.rest ?? rest;
    }
    return place.value === null ? covered(rest) : { value: place.value, captured };
  }
}

function covered<T>(value: T | null): { readonly value: T; readonly captured: readonly string[] } | null {
  return value === null ? null : { value, captured: [] };
}

function segmentsBehind(path: string, head: string): string[] {
  const rest = path.slice(head.length + 1);
  return rest === '' ? [] : rest.slice(1).split('/');
}
