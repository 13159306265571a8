import { nearest } from '../../common/text/nearest.js';
import { CliError } from '../cli-error.js';
import { printable } from '../output/output.js';
import type { TestedGateway } from './selftest-checks.js';

const timeoutMs = 10_000;
/** Slugs that a message lists. */
const maxListed = 10;

/**
 * Slugs of the stored providers that the key sees; null: it may not list them. Throws where no gateway answers, or
 * not to this key.
 */
export async function storedSlugs({ url, key }: TestedGateway): Promise<readonly string[] | null> {
  if (!/^https?:$/.test(URL.canParse(url) ? new URL(url).protocol : ''))
    throw new CliError('--url must be an address such as http://127.0.0.1:8787.', 2);
  let response: Response;
  try {
    response = await fetch(`${url}/v1/providers?page_size=1000`, {
      headers: { 'x-gateway-api-key': key },
      signal: AbortSignal.timeout(timeoutMs),
    });
  } catch (cause) {
    const why = (cause as { cause?: { code?: string } }).cause?.code ?? (cause as Error).message;
    throw new CliError(`--url: no gateway answers at ${url} (${why}): start it, or name its address.`);
  }
  if (response.status === 401)
    throw new CliError('--key-file: the gateway does not accept this key: name one of a workspace.', 2);
  if (!response.ok) return null;
  const { data, total } = (await response.json()) as { data: { slug: string }[]; total: number };
  return data.length < total ? null : data.map(({ slug }) => slug);
}

/** The message for a slug that no stored provider has. */
export function unknownSlug(provider: string, slugs: readonly string[] | null): CliError {
  const guess = slugs === null ? null : nearest(provider.slice(1), slugs);
  const known = (slugs ?? []).slice(0, maxListed).map((slug) => `@${slug}`);
  const more = (slugs?.length ?? 0) > maxListed ? ', …' : '';
  const hint =
    guess !== null
      ? ` Did you mean @${guess}?`
      : known.length > 0
        ? ` There are: ${known.join(', ')}${more}.`
        : ' Store one with headgate providers add.';
  return new CliError(`--provider: the workspace has no provider ${printable(provider)}.${hint}`, 3);
}
