import { type ResolvedConfig, type RouteNode, type Target, targetOf } from '../../src/common/core/target.js';

/** Facts about a config that the cache needs, computed once for each. */
export interface ConfigFacts {
  /** Slugs of the stored providers that its targets name, without `@`. */
  readonly slugs: readonly string[];
  /** Does a target take its provider from the model (`@slug/model`)? */
  readonly byModel: boolean;
  /** Client headers that its targets forward, or that its conditions and sessions read; lower case. */
  readonly headers: ReadonlySet<string>;
  /** Does its routing depend on whether a call streams? */
  readonly byStreaming: boolean;
  /** Does its routing depend on the text of the question? */
  readonly byWords: boolean;
  readonly targets: ReadonlyMap<string, Target>;
}

const known = new WeakMap<ResolvedConfig, ConfigFacts>();

export function factsOf(config: ResolvedConfig): ConfigFacts {
  let facts = known.get(config);
  if (facts === undefined) {
    facts = read(config);
    known.set(config, facts);
  }
  return facts;
}

function read(config: ResolvedConfig): ConfigFacts {
  const targets = new Map<string, Target>();
  const slugs = new Set<string>();
  const headers = new Set<string>();
  let byModel = false;
  let byStreaming = false;
  let byWords = false;
  const visit = (node: RouteNode): void => {
    if (node.kind === 'target') {
      const target = targetOf(config, node);
      targets.set(target.path, target);
      const stored = target.virtualKey ?? target.provider;
      if (stored === null) byModel = true;
      else if (target.virtualKey !== null || stored.startsWith('@')) slugs.add(withoutAt(stored));
      for (const name of target.forwardHeaders) headers.add(name);
      const model = target.overrideParams?.['model'] ?? target.defaultParams?.['model'];
      const slug = typeof model === 'string' ? slugOfModel(model) : null;
      if (slug !== null) slugs.add(slug);
      return;
    }
    const looksAt = node.kind === 'conditional' ? node.branches.flatMap(({ query }) => fieldsIn(query)) : [];
    if (node.kind === 'loadbalance') looksAt.push(...(node.sticky?.fields ?? []));
    for (const field of looksAt) {
      if (field.startsWith('headers.')) headers.add(field.slice('headers.'.length).toLowerCase());
      else if (field.startsWith('params.stream')) byStreaming = true;
      else byWords ||= /^params\.(messages|prompt)/.test(field);
    }
    for (const child of node.children) visit(child);
  };
  visit(config.root);
  return { slugs: [...slugs], byModel, headers, byStreaming, byWords, targets };
}

const withoutAt = (slug: string): string => (slug.startsWith('@') ? slug.slice(1) : slug);

/** `@slug/model` → `slug`; null: the model names no provider. */
export function slugOfModel(model: string): string | null {
  const slash = model.indexOf('/');
  return model.startsWith('@') && slash > 1 ? model.slice(1, slash) : null;
}

/** Names of the fields in a condition's text. Too many fields do no harm. */
function fieldsIn(query: string): string[] {
  return [...query.matchAll(/"((?:headers|params)\.[^"]+)"/g)].map(([, field]) => field!);
}
