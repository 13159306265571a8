interface Node<T> {
  readonly literal: Map<string, Node<T>>;
  any: Node<T> | null;
  value: T | null;
}

const node = <T>(): Node<T> => ({ literal: new Map(), any: null, value: null });

/** The first segment, that behind the version where there is one: `/v1/configs/x` → `v1/configs`. */
function headOf(path: string): string {
  const from = path.startsWith('/v1/') ? 4 : 1;
  const end = path.indexOf('/', from);
  return path.slice(1, end < 0 ? path.length : end);
}

/**
 * Paths with places in them, `/v1/configs/{slug}`, and what stands behind each. A path that is none of them is told
 * by one look into a map, whatever the number of templates.
 */
export class PathTable<T> {
  readonly #heads = new Map<string, Node<T>>();

  /** The value of a template, made when it is first named. Throws for a template without a literal head. */
  at(template: string, make: () => T): T {
    const head = headOf(template);
    if (head.includes('{')) throw new Error(`${template}: the first segment of a path is literal.`);
    let place = this.#heads.get(head) ?? node<T>();
    this.#heads.set(head, place);
    for (const segment of segmentsBehind(template, head)) {
      if (segment.startsWith('{')) {
        place.any ??= node();
        place = place.any;
        continue;
      }
      const next = place.literal.get(segment) ?? node<T>();
      place.literal.set(segment, next);
      place = next;
    }
    place.value ??= make();
    return place.value;
  }

  /** The template that fits, literal segments before places, and what stood in its places; null: none. */
  find(path: string): { readonly value: T; readonly captured: readonly string[] } | null {
    const head = headOf(path);
    const start = this.#heads.get(head);
    return start === undefined ? null : walk(start, segmentsBehind(path, head), 0, []);
  }
}

function segmentsBehind(path: string, head: string): string[] {
  const rest = path.slice(head.length + 1);
  return rest === '' ? [] : rest.slice(1).split('/');
}

function walk<T>(
  place: Node<T>,
  segments: readonly string[],
  i: number,
  captured: readonly string[],
): { readonly value: T; readonly captured: readonly string[] } | null {
  const segment = segments[i];
  if (segment === undefined) return place.value === null ? null : { value: place.value, captured };
  const literal = place.literal.get(segment);
  const found = literal === undefined ? null : walk(literal, segments, i + 1, captured);
  if (found !== null || place.any === null) return found;
  return walk(place.any, segments, i + 1, [...captured, segment]);
}
