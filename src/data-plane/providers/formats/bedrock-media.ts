import type { JsonObject } from '../../../common/core/exchange.js';
import { invalid, unsupported } from './anthropic-content.js';
import { asObject, asString } from './json-shape.js';

/** Which block of Converse holds data of this kind, and what it calls the format. */
interface Medium {
  readonly block: 'image' | 'document' | 'video' | 'audio';
  readonly format: string;
}

const image = (format: string): Medium => ({ block: 'image', format });
const document = (format: string): Medium => ({ block: 'document', format });
const video = (format: string): Medium => ({ block: 'video', format });
const audio = (format: string): Medium => ({ block: 'audio', format });

/** Formats by MIME type (API_runtime_ImageBlock, _DocumentBlock, _VideoBlock and _AudioBlock). */
const byType: Readonly<Record<string, Medium>> = {
  'image/png': image('png'),
  'image/jpeg': image('jpeg'),
  'image/jpg': image('jpeg'),
  'image/gif': image('gif'),
  'image/webp': image('webp'),
  'application/pdf': document('pdf'),
  'text/csv': document('csv'),
  'application/msword': document('doc'),
  'application/vnd.openxmlformats-officedocument.wordprocessingml.document': document('docx'),
  'application/vnd.ms-excel': document('xls'),
  'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet': document('xlsx'),
  'text/html': document('html'),
  'text/plain': document('txt'),
  'text/markdown': document('md'),
  'text/x-markdown': document('md'),
  'video/x-matroska': video('mkv'),
  'video/quicktime': video('mov'),
  'video/mp4': video('mp4'),
  'video/webm': video('webm'),
  'video/x-flv': video('flv'),
  'video/mpeg': video('mpeg'),
  'video/x-ms-wmv': video('wmv'),
  'video/3gpp': video('three_gp'),
  'audio/mpeg': audio('mp3'),
  'audio/mp3': audio('mp3'),
  'audio/wav': audio('wav'),
  'audio/x-wav': audio('wav'),
  'audio/flac': audio('flac'),
  'audio/aac': audio('aac'),
  'audio/ogg': audio('ogg'),
  'audio/opus': audio('opus'),
  'audio/mp4': audio('m4a'),
  'audio/webm': audio('webm'),
};

/** File endings that are not the format's name itself. */
const endings: Readonly<Record<string, string>> = {
  jpg: 'jpeg',
  htm: 'html',
  '3gp': 'three_gp',
  mpg: 'mpeg',
};

const byFormat: ReadonlyMap<string, Medium> = new Map(
  Object.values(byType).map((medium) => [medium.format, medium] as const),
);

/** Names of documents must differ within a request; made so in the order in which they come. */
export class DocumentNames {
  readonly #taken = new Set<string>();

  /** Letters, digits, single spaces, hyphens and brackets are allowed; the ending only repeats the format. */
  take(filename: string | null): string {
    const bare = (filename ?? '').replace(/\.[^.]{1,5}$/, '');
    const clean = bare
      .replace(/[^A-Za-z0-9()[\]-]+/g, ' ')
      .trim()
      .slice(0, 190);
    const name = clean === '' ? 'document' : clean;
    let unique = name;
    for (let n = 2; this.#taken.has(unique); n++) unique = `${name} ${n}`;
    this.#taken.add(unique);
    return unique;
  }
}

/** `image_url` → an image, or what else its data is. */
export function imageUrlBlock(
  part: JsonObject,
  path: string,
  names: DocumentNames,
  dropped: string[],
): JsonObject {
  const object = asObject(part['image_url']);
  const url = object === null ? asString(part['image_url']) : asString(object['url']);
  const at = `${path}.image_url.url`;
  if (url === null) throw invalid(at, 'must be a data: or s3: URL.');
  const detail = object?.['detail'];
  if (detail !== undefined && detail !== null && detail !== 'auto') dropped.push(`${path}.image_url.detail`);
  return mediaBlock(url, asString(object?.['mime_type']), null, at, names);
}

/** `file` with `file_data` (a data: URL, or bare base64 of a stated type) or an `s3:` `file_url`. */
export function fileBlock(part: JsonObject, path: string, names: DocumentNames): JsonObject {
  const file = asObject(part['file']);
  if (file === null) throw invalid(`${path}.file`, 'must be an object with file_data or file_url.');
  if (typeof file['file_id'] === 'string') {
    throw unsupported(
      `${path}.file.file_id`,
      'this provider keeps no files: send file_data, or an s3: file_url.',
    );
  }
  const filename = asString(file['filename']) ?? asString(file['file_name']);
  const mime = asString(file['mime_type']);
  const data = asString(file['file_data']);
  if (data !== null) return mediaBlock(data, mime, filename, `${path}.file.file_data`, names);
  const url = asString(file['file_url']);
  if (url === null) throw invalid(`${path}.file`, 'must have file_data or file_url.');
  return mediaBlock(url, mime, filename, `${path}.file.file_url`, names);
}

export function audioBlock(part: JsonObject, path: string): JsonObject {
  const given = asObject(part['input_audio']);
  const data = asString(given?.['data']);
  const format = asString(given?.['format']);
  if (data === null || format === null) throw invalid(`${path}.input_audio`, 'must have data and a format.');
  return { audio: { format, source: { bytes: data } } };
}

function mediaBlock(
  given: string,
  mime: string | null,
  filename: string | null,
  path: string,
  names: DocumentNames,
): JsonObject {
  let type = mime?.toLowerCase() ?? null;
  let source: JsonObject;
  let named = filename;
  if (given.startsWith('s3://')) {
    source = { s3Location: { uri: given } };
    named ??= given.slice(given.lastIndexOf('/') + 1);
  } else if (given.startsWith('data:')) {
    const comma = given.indexOf(',');
    // Only the head is cut out: what follows the comma may be megabytes.
    const head = comma < 0 || comma > 256 ? null : given.slice(5, comma).split(';');
    if (head === null || head[head.length - 1]?.trim() !== 'base64') {
      throw invalid(path, 'must be a data URL of the form data:<type>;base64,<data>.');
    }
    if (head[0] !== '') type = (head[0] as string).toLowerCase();
    source = { bytes: given.slice(comma + 1) };
  } else if (/^[a-z][a-z0-9+.-]*:/i.test(given.slice(0, 32))) {
    throw unsupported(
      path,
      'this provider fetches nothing from the web: send the data itself as a data: URL, or an s3: URL.',
    );
  } else {
    source = { bytes: given };
  }
  const medium = mediumOf(type, named);
  if (medium === null) {
    throw unsupported(
      path,
      `data of type ${JSON.stringify((type ?? named ?? '').slice(0, 80))} cannot be sent to this provider: use an image, a document or a video in a format that it knows, and say which by the data: URL, mime_type or filename.`,
    );
  }
  const { block, format } = medium;
  if (block !== 'document') return { [block]: { format, source } };
  return { document: { format, name: names.take(named), source } };
}

function mediumOf(type: string | null, filename: string | null): Medium | null {
  if (type !== null && Object.hasOwn(byType, type)) return byType[type] as Medium;
  const ending = /\.([A-Za-z0-9]{1,5})$/.exec(filename ?? '')?.[1]?.toLowerCase();
  const named = ending === undefined ? undefined : byFormat.get(endings[ending] ?? ending);
  if (named !== undefined) return named;
  // Bare base64 without a type is a PDF, as it is elsewhere; any other text is text.
  if (type === null) return filename === null ? document('pdf') : null;
  return type.startsWith('text/') ? document('txt') : null;
}
