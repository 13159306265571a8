import type { FieldShape, Shape } from '../../../../../../proto/shape.js';
import { adminMethod } from '../../../../../../proto/tree.js';
import type { DocumentKind } from './kind.js';

/** Fields that a document has beside its `spec`, or that belong to a single request. */
const apart = new Set([
  'workspace_id',
  'organisation_id',
  'request_id',
  'etag',
  'update_mask',
  'reset_usage',
]);

/** The fields of a kind's `spec`: those of the requests that make and change its records. */
export class SpecShape implements Shape {
  readonly name: string;
  readonly comment: string;
  readonly fields: readonly FieldShape[];
  readonly #spelt = new Map<string, FieldShape>();

  constructor(readonly kind: DocumentKind) {
    const main = adminMethod(kind.specMethod ?? kind.create ?? kind.update);
    const parts = kind.parts ?? [];
    const ofParts = new Set(parts.flatMap(({ fields }) => fields));
    const without = new Set([...apart, ...(kind.without ?? [])]);
    this.name = kind.kind;
    this.comment = main.comment;
    this.fields = [
      ...main.request.fields.filter(({ name }) => !without.has(name) && !ofParts.has(name)),
      ...parts.flatMap(({ method, fields }) =>
        fields.map((name) => adminMethod(method).request.field(name)!),
      ),
    ];
    for (const field of this.fields) for (const spelling of field.spellings) this.#spelt.set(spelling, field);
  }

  /** Never read: it consists of several messages. */
  get type(): Shape['type'] {
    throw new Error('A spec is no message.');
  }

  spelt(name: string): FieldShape | undefined {
    return this.#spelt.get(name);
  }

  field(name: string): FieldShape | undefined {
    return this.fields.find((field) => field.name === name);
  }

  /** The shape with these fields alone. */
  only(names: readonly string[]): Shape {
    const fields = this.fields.filter(({ name }) => names.includes(name));
    return Object.assign(Object.create(this), { fields }) as Shape;
  }

  /** The method that sets a field of an existing record. */
  methodOf(field: string): string {
    return this.kind.parts?.find(({ fields }) => fields.includes(field))?.method ?? this.kind.update;
  }
}

const shapes = new Map<string, SpecShape>();

/** The shape of a kind's `spec`; made once. */
export function specShape(kind: DocumentKind): SpecShape {
  let shape = shapes.get(kind.kind);
  if (shape === undefined) {
    shape = new SpecShape(kind);
    shapes.set(kind.kind, shape);
  }
  return shape;
}
