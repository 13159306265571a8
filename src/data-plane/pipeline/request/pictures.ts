/** As `workers/read-request.ts` counts one. */
export const tokensPerPicture = 765;

const pictureTypes: ReadonlySet<unknown> = new Set(['image_url', 'input_image', 'image']);
/** Parts of contents are never deeper, also those of a tool's results. */
const deepestPart = 10;

/** How many pictures the body of a request has, in any client's format. */
export function picturesIn(body: unknown, depth = 0): number {
  if (typeof body !== 'object' || body === null || depth > deepestPart) return 0;
  let pictures = 0;
  if (Array.isArray(body)) {
    for (const each of body) pictures += picturesIn(each, depth + 1);
    return pictures;
  }
  const part = body as Readonly<Record<string, unknown>>;
  if (pictureTypes.has(part['type']) || part['inlineData'] !== undefined || part['fileData'] !== undefined)
    return 1;
  for (const name in part) pictures += picturesIn(part[name], depth + 1);
  return pictures;
}
