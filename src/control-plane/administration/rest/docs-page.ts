/** The parts of the OpenAPI document that the page shows. */
interface OpenApiSchema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly description?: string;
  readonly enum?: readonly unknown[];
  readonly properties?: Readonly<Record<string, OpenApiSchema>>;
  readonly required?: readonly string[];
  readonly items?: OpenApiSchema;
  readonly anyOf?: readonly OpenApiSchema[];
  readonly additionalProperties?: OpenApiSchema | boolean;
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
}

interface Content {
  readonly content?: Readonly<Record<string, { readonly schema: OpenApiSchema }>>;
}

interface Operation {
  readonly tags: readonly string[];
  readonly operationId: string;
  readonly summary?: string;
  readonly 'x-scopes'?: readonly string[];
  readonly parameters?: readonly {
    readonly name: string;
    readonly in: string;
    readonly required?: boolean;
    readonly description?: string;
    readonly schema: OpenApiSchema;
  }[];
  readonly requestBody?: Content;
  readonly responses: Readonly<Record<string, Content>>;
}

export interface OpenApi {
  readonly info: { readonly title: string; readonly description: string };
  readonly tags: readonly { readonly name: string; readonly description: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, OpenApiSchema>> };
}

const entities: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };
const escaped = (text: string): string => text.replace(/[&<>"]/g, (sign) => entities[sign] ?? sign);

function typeOf(schema: OpenApiSchema): string {
  if (schema.$ref !== undefined) {
    const name = escaped(schema.$ref.split('/').at(-1) ?? '');
    return `<a href="#${name}">${name}</a>`;
  }
  if (schema.anyOf !== undefined) return schema.anyOf.map(typeOf).join(' or ');
  if (schema.enum !== undefined) return schema.enum.map((word) => escaped(String(word))).join(', ');
  if (schema.items !== undefined) return `list of ${typeOf(schema.items)}`;
  if (typeof schema.additionalProperties === 'object') return `map to ${typeOf(schema.additionalProperties)}`;
  const bounds = [
    schema.maxLength === undefined ? '' : `, ≤ ${schema.maxLength} characters`,
    schema.minimum === undefined ? '' : `, ≥ ${schema.minimum}`,
    schema.maximum === undefined ? '' : `, ≤ ${schema.maximum}`,
  ];
  return escaped([schema.type ?? 'any'].flat().join(' or ')) + bounds.join('');
}

function row(name: string, where: string, schema: OpenApiSchema, isRequired: boolean): string {
  const cells = [
    `<code>${escaped(name)}</code>${isRequired ? ' <b>required</b>' : ''}`,
    where,
    typeOf(schema),
    escaped(schema.description ?? ''),
  ];
  return `<tr>${cells.map((cell) => `<td>${cell}</td>`).join('')}</tr>`;
}

const rowsOf = (schema: OpenApiSchema, where: string): string[] =>
  Object.entries(schema.properties ?? {}).map(([name, property]) =>
    row(name, where, property, schema.required?.includes(name) === true),
  );

const tableOf = (rows: readonly string[]): string =>
  rows.length === 0
    ? ''
    : `<table><tr><th>field</th><th>in</th><th>type</th><th>meaning</th></tr>${rows.join('')}</table>`;

function operation(verb: string, path: string, one: Operation): string {
  const body = one.requestBody?.content?.['application/json']?.schema;
  const answer = Object.values(one.responses['200']?.content ?? {})[0]?.schema;
  const rows = [
    ...(one.parameters ?? []).map(({ name, in: where, required, schema, description }) =>
      row(name, where, description === undefined ? schema : { ...schema, description }, required === true),
    ),
    ...(body === undefined ? [] : rowsOf(body, 'body')),
  ];
  const scopes = one['x-scopes'] ?? [];
  const needs =
    scopes.length === 0
      ? 'Public.'
      : `Scope: ${scopes.map((scope) => `<code>${escaped(scope)}</code>`).join(' or ')}.`;
  return `<section><h3><code>${verb.toUpperCase()} ${escaped(path)}</code></h3>
<p>${escaped(one.summary ?? '')} ${needs}${answer === undefined ? '' : ` Answers ${typeOf(answer)}.`}</p>
${tableOf(rows)}</section>`;
}

/** The OpenAPI document as a page to be read. */
export function docsPage(document: OpenApi): string {
  const groups = document.tags.map(({ name, description }) => {
    const own = Object.entries(document.paths).flatMap(([path, verbs]) =>
      Object.entries(verbs)
        .filter(([, one]) => one.tags.includes(name))
        .map(([verb, one]) => operation(verb, path, one)),
    );
    return own.length === 0
      ? ''
      : `<h2 id="${escaped(name)}">${escaped(name)}</h2><p>${escaped(description)}</p>${own.join('\n')}`;
  });
  const schemas = Object.entries(document.components.schemas).map(
    ([name, schema]) =>
      `<section id="${escaped(name)}"><h3>${escaped(name)}</h3><p>${escaped(schema.description ?? '')}</p>${tableOf(rowsOf(schema, 'body'))}</section>`,
  );
  const links = document.tags.map(({ name }) => `<a href="#${escaped(name)}">${escaped(name)}</a>`);
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>${escaped(document.info.title)}</title>
<meta name="viewport" content="width=device-width"><link rel="stylesheet" href="/docs/style.css"></head>
<body><h1>${escaped(document.info.title)}</h1>
<p>${escaped(document.info.description)} For programs: <a href="/v1/openapi.json">/v1/openapi.json</a>.</p>
<nav>${links.join(' ')}</nav>
${groups.join('\n')}
<h2>Records</h2>
${schemas.join('\n')}
</body></html>
`;
}

export const docsStyle = `body { font: 15px/1.5 system-ui, sans-serif; max-width: 70rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; width: 100%; font-size: 14px; }
td, th { border-bottom: 1px solid #8884; padding: 0.25rem 0.5rem; text-align: left; vertical-align: top; }
section { margin: 1.5rem 0; }
nav a { margin-right: 0.75rem; }
@media (prefers-color-scheme: dark) { body { background: #111; color: #ddd; } a { color: #8bf; } }
`;
