import type { JsonObject } from '../../../common/core/exchange.js';
import { invalid } from './anthropic-content.js';
import { asObject, asString } from './json-shape.js';

/** MIME types by the ending of a file's name; Gemini requires them, and an OpenAI part has no field for it. */
const types: Readonly<Record<string, string>> = {
  png: 'image/png',
  jpg: 'image/jpeg',
  jpeg: 'image/jpeg',
  webp: 'image/webp',
  heic: 'image/heic',
  heif: 'image/heif',
  gif: 'image/gif',
  pdf: 'application/pdf',
  txt: 'text/plain',
  md: 'text/markdown',
  csv: 'text/csv',
  html: 'text/html',
  json: 'application/json',
  mp3: 'audio/mp3',
  wav: 'audio/wav',
  aac: 'audio/aac',
  ogg: 'audio/ogg',
  flac: 'audio/flac',
  mp4: 'video/mp4',
  mpeg: 'video/mpeg',
  mov: 'video/quicktime',
  webm: 'video/webm',
};

/** An `image_url` or `video_url` part. */
export function urlPart(part: JsonObject, name: string, path: string, dropped: string[]): JsonObject {
  const object = asObject(part[name]);
  const url = object === null ? asString(part[name]) : asString(object['url']);
  const at = `${path}.${name}.url`;
  if (url === null) throw invalid(at, 'must be a data:, http(s): or gs: URL.');
  const detail = object?.['detail'];
  if (detail !== undefined && detail !== null && detail !== 'auto') dropped.push(`${path}.${name}.detail`);
  const mime = asString(object?.['mime_type']) ?? asString(part['mime_type']);
  if (url.startsWith('data:')) return inline(url, mime ?? 'image/jpeg', at);
  return stored(url, mime, at);
}

/** A `file` part: data, an address, or the URI that Google's own files API has given (as `file_id`). */
export function filePart(part: JsonObject, path: string, dropped: string[]): JsonObject {
  const file = asObject(part['file']);
  if (file === null) throw invalid(`${path}.file`, 'must be an object with file_data, file_url or file_id.');
  const name = asString(file['filename']) ?? asString(file['file_name']);
  const mime = asString(file['mime_type']) ?? (name === null ? null : typeByName(name));
  if (name !== null) dropped.push(`${path}.file.${'filename' in file ? 'filename' : 'file_name'}`);
  const data = asString(file['file_data']);
  if (data !== null) return inline(data, mime ?? 'application/pdf', `${path}.file.file_data`);
  for (const field of ['file_url', 'file_id']) {
    const url = asString(file[field]);
    if (url !== null) return stored(url, mime, `${path}.file.${field}`);
  }
  throw invalid(`${path}.file`, 'must have file_data, file_url or file_id.');
}

export function audioPart(part: JsonObject, path: string): JsonObject {
  const audio = asObject(part['input_audio']);
  const data = asString(audio?.['data']);
  if (audio === null || data === null) throw invalid(`${path}.input_audio.data`, 'must be base64 text.');
  return { inlineData: { mimeType: `audio/${asString(audio['format']) ?? 'wav'}`, data } };
}

/** Bytes in the request itself: a `data:` URL, or bare base64. */
function inline(data: string, mime: string, path: string): JsonObject {
  if (!data.startsWith('data:')) return { inlineData: { mimeType: mime, data } };
  const comma = data.indexOf(',');
  // Only the head is cut out: what follows the comma may be megabytes.
  const head = comma < 0 || comma > 256 ? null : data.slice(5, comma).split(';');
  if (head === null || head[head.length - 1]?.trim() !== 'base64') {
    throw invalid(path, 'must be a data URL of the form data:<type>;base64,<data>.');
  }
  const type = head[0] === '' ? mime : (head[0] as string).toLowerCase();
  return {
    inlineData: { mimeType: type === 'image/jpg' ? 'image/jpeg' : type, data: data.slice(comma + 1) },
  };
}

function stored(url: string, mime: string | null, path: string): JsonObject {
  if (!/^(?:https?|gs):\/\//i.test(url)) throw invalid(path, 'must be a data:, http(s): or gs: URL.');
  const mimeType = mime ?? typeByName(url.replace(/[?#].*$/s, ''));
  return { fileData: { ...(mimeType === null ? {} : { mimeType }), fileUri: url } };
}

function typeByName(name: string): string | null {
  const ending = /\.([a-z0-9]{2,4})$/i.exec(name.slice(-8))?.[1]?.toLowerCase();
  return ending !== undefined && Object.hasOwn(types, ending) ? (types[ending] as string) : null;
}
