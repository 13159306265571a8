import {
  canSend,
  lineBeginning,
  methodsWithBody,
  type RequestHead,
  requestHead,
  splitUrl,
} from './request-head.js';

/** A URL and headers that many requests have in common: split, checked and joined once for all of them. */
export class PreparedRequest {
  readonly origin: string;
  /** With the query. */
  readonly path: string;
  #method = '';
  #host = '';
  /** The head for that method and host, without the length of the body. */
  #beginning = '';

  /** Neither is changed later. */
  constructor(
    readonly url: string,
    readonly headers: readonly string[],
  ) {
    const { origin, path } = splitUrl(url);
    this.origin = origin;
    this.path = path;
  }

  /**
   * The head of a request with a body of so many bytes, at least one; null: HTTP does not allow it. `headers`: of the request,
   * which begin with those that were prepared.
   */
  head(method: string, host: string, length: number, headers: readonly string[]): RequestHead | null {
    if (this.#method !== method || this.#host !== host) {
      const line = { method, path: this.path, host, length };
      const head = requestHead(line, this.headers);
      if (head === null || !methodsWithBody.has(method)) return head;
      this.#method = method;
      this.#host = host;
      // One flat text: the sum of many would be joined again for each request.
      const beginning = head.text.slice(0, head.text.lastIndexOf(lengthName));
      this.#beginning = Buffer.from(beginning, 'latin1').toString('latin1');
    }
    let text = this.#beginning;
    for (let i = this.headers.length; i < headers.length; i += 2) {
      const beginning = lineBeginning(headers[i]!);
      if (beginning === null || !canSend(headers[i + 1]!)) return null;
      if (beginning !== '') text += `${beginning}${headers[i + 1]!}\r\n`;
    }
    return { text: `${text}${lengthName}${length}\r\n\r\n`, streamed: -1, keep: true };
  }
}

const lengthName = 'content-length: ';
