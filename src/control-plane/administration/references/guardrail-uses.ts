import type { Guardrail, Store } from '../../store/store.js';
import { referencesOf } from './config-references.js';

/** Of each kind, in a message. */
const maxNamed = 10;
/** Of each kind. Some of the configs may only have the slug in another place. */
const maxRead = 200;

/** The defaults and configs that apply a guardrail, as text for a message; empty: there are none. */
export async function usesOf(store: Store, guardrail: Guardrail): Promise<string> {
  const mentions = await store.guardrails.mentions(guardrail, maxRead);
  const configs = mentions.configs.filter(({ text }) =>
    referencesOf(JSON.parse(text)).guardrails.some(
      ({ name }) => name === guardrail.id || name === guardrail.slug,
    ),
  );
  const uses = [
    ...mentions.workspaces.slice(0, maxNamed).map((workspace) => `the defaults of workspace ${workspace}`),
    ...configs.slice(0, maxNamed).map(({ slug, workspace }) => `config ${slug} of workspace ${workspace}`),
  ];
  if (mentions.organisation) uses.unshift('the defaults of the organisation');
  const isMore = mentions.workspaces.length > maxNamed || configs.length > maxNamed;
  return uses.join(', ') + (isMore ? ' and others' : '');
}
