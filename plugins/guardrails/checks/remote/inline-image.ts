import type { JsonObject } from '../../../../src/common/core/exchange.js';
import { getHeader } from '../../../../src/common/http/headers.js';
import type { RemoteCheck, RemoteContext } from '../../check.js';
import { isPlain } from '../request/values.js';
import { failed, ServiceFailed } from './calls.js';

interface InlineImage {
  /** Absent: for every provider. */
  readonly providers?: readonly string[];
  readonly maxSizeBytes: number;
}

interface Image {
  /** `image/png` */
  readonly type: string;
  /** Base64. */
  readonly data: string;
}

/** Pictures of one request; a further one is left as it is. */
const maxImages = 20;

/** By their first bytes: what a server calls them is not believed. */
function typeOf(bytes: Buffer): string | null {
  if (bytes.subarray(0, 8).equals(Buffer.from('89504e470d0a1a0a', 'hex'))) return 'image/png';
  if (bytes.subarray(0, 3).equals(Buffer.from('ffd8ff', 'hex'))) return 'image/jpeg';
  if (/^GIF8[79]a/.test(bytes.toString('latin1', 0, 6))) return 'image/gif';
  if (bytes.toString('latin1', 0, 4) === 'RIFF' && bytes.toString('latin1', 8, 12) === 'WEBP')
    return 'image/webp';
  return null;
}

async function fetchImage({ send }: RemoteContext, url: string, maxBytes: number): Promise<Image> {
  const headers = ['accept', 'image/png, image/jpeg, image/webp, image/gif', 'user-agent', 'headgate'];
  const { status, headers: given, body } = await send({ method: 'GET', url, headers, body: null });
  if (status !== 200)
    throw new ServiceFailed(`A picture could not be fetched: its server answered with status ${status}.`);
  if (body.length > maxBytes || Number(getHeader(given, 'content-length') ?? 0) > maxBytes)
    throw new ServiceFailed(`A picture has more than ${maxBytes} bytes.`);
  const type = typeOf(body);
  if (type === null) throw new ServiceFailed('A picture is neither PNG, JPEG, GIF nor WebP.');
  return { type, data: body.toString('base64') };
}

const isRemote = (url: unknown): url is string => typeof url === 'string' && /^https?:\/\//i.test(url);

/** The address of a part's picture, and the part with the picture in it. */
function picture(part: unknown): { readonly url: string; with(image: Image): JsonObject } | null {
  if (!isPlain(part)) return null;
  const dataUrl = ({ type, data }: Image): string => `data:${type};base64,${data}`;
  const { image_url: given, source, fileData } = part;
  if (part['type'] === 'image_url' && isPlain(given) && isRemote(given['url']))
    return {
      url: given['url'],
      with: (image) => ({ ...part, image_url: { ...given, url: dataUrl(image) } }),
    };
  if (part['type'] === 'input_image' && isRemote(given))
    return { url: given, with: (image) => ({ ...part, image_url: dataUrl(image) }) };
  if (part['type'] === 'image' && isPlain(source) && isRemote(source['url'])) {
    const inline = ({ type, data }: Image): JsonObject => ({ type: 'base64', media_type: type, data });
    return { url: source['url'], with: (image) => ({ ...part, source: inline(image) }) };
  }
  if (isPlain(fileData) && isRemote(fileData['fileUri'])) {
    const { fileData: _, ...rest } = part;
    return {
      url: fileData['fileUri'],
      with: ({ type, data }) => ({ ...rest, inlineData: { mimeType: type, data } }),
    };
  }
  return null;
}

/** Puts pictures that a request has by their addresses into it. Always true, unless one cannot be fetched. */
export const inlineImage: RemoteCheck = {
  id: 'default.inlineImage',
  runs: 'remote',
  transforms: true,
  // It sees the whole body.
  judgedOnly: true,
  async run(context, parameters) {
    const { providers, maxSizeBytes } = parameters as unknown as InlineImage;
    const { body, provider, phase } = context;
    const isWanted =
      providers === undefined || (provider !== null && providers.includes(provider.replace(/^@/, '')));
    const unchanged = { verdict: true, data: { images: 0, explanation: 'No picture was fetched.' } };
    if (phase !== 'before' || body === null || !isWanted) return unchanged;
    let images = 0;
    const inParts = async (parts: unknown): Promise<unknown> => {
      if (!Array.isArray(parts)) return parts;
      const made: unknown[] = [];
      for (const part of parts) {
        const found = images < maxImages ? picture(part) : null;
        if (found !== null) images++;
        made.push(found === null ? part : found.with(await fetchImage(context, found.url, maxSizeBytes)));
      }
      return made;
    };
    try {
      const changed: Record<string, unknown> = { ...body };
      for (const [list, content] of [
        ['messages', 'content'],
        ['input', 'content'],
        ['contents', 'parts'],
      ] as const) {
        const messages = body[list];
        if (!Array.isArray(messages)) continue;
        const made: unknown[] = [];
        for (const message of messages)
          made.push(isPlain(message) ? { ...message, [content]: await inParts(message[content]) } : message);
        changed[list] = made;
      }
      if (images === 0) return unchanged;
      return {
        verdict: true,
        data: { images, explanation: `${images} pictures were put into the request.` },
        body: changed,
      };
    } catch (error) {
      return failed(error, 'A picture could not be put into the request.');
    }
  },
};
