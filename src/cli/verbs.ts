import type { AdminMethod } from '../../proto/tree.js';

/** What services and methods of the proto files are called on the command line. */

const wordsOf = (name: string): string[] =>
  name.split(/(?<=[a-z0-9])(?=[A-Z])/).map((word) => word.toLowerCase());
const singular = (word: string): string => word.replace(/ies$/, 'y').replace(/(?<!s)s$/, '');

/** `ApiKeys` → `api-keys`. */
export const resourceName = (service: string): string => wordsOf(service).join('-');

/** `ApiKeys.RotateApiKey` → `rotate`, `ListIntegrationModels` → `list-models`; `Watch.WatchConfig` → `config`. */
export function verbOf({ service, method }: Pick<AdminMethod, 'service' | 'method'>): string {
  const owner = wordsOf(service);
  const [verb = '', ...noun] = wordsOf(method);
  const own = noun.findIndex((word, i) => singular(word) !== singular(owner[i] ?? ''));
  const rest = own === -1 ? [] : noun.slice(own);
  return (verb === resourceName(service) ? rest : [verb, ...rest]).join('-');
}

/** Fields of the request that identify the record: arguments. Those with a few values to choose from are flags. */
export function argumentsOf({ bindings, request }: AdminMethod): string[] {
  const inPath = [...(bindings[0]?.path ?? '').matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name);
  return inPath.filter((name) => request.field(name)?.rules.in === undefined);
}

/** The first sentence of a comment, as help lists it. */
export const firstSentence = (comment: string): string =>
  (comment.replaceAll('\n', ' ').split(/(?<=[.?])\s/)[0] ?? '').replace(/\.$/, '');

/** As much of it as fits a line of the list of all resources. */
export function aboutLine(comment: string): string {
  const sentence = firstSentence(comment);
  return sentence.length > 50 ? (sentence.split(/ \(|[,:;]/)[0] ?? '') : sentence;
}
