import type { Message } from '../../../../../proto/codec.js';
import type { AdminMethod, Binding } from '../../../../../proto/tree.js';
import type { AdminError } from '../../admin-error.js';
import type { RestAnswer, RestRequest } from '../request.js';

/** A request that has found its method. */
export interface RoutedRequest {
  readonly method: AdminMethod;
  readonly binding: Binding;
  /** The values of the fields in the path, in their order. */
  readonly captured: readonly string[];
  readonly request: RestRequest;
  /** Do browsers reach the gateway over https? */
  readonly isSecure: boolean;
}

/** How the requests and answers of a method look over REST. Most methods have the usual form. */
export interface RestForm {
  /** The message that the request is. Throws AB01 for one that cannot be read. */
  read(routed: RoutedRequest): Message;
  /** The fields of a refused request that can be read; null: none can. Absent: likewise. */
  readValid?(routed: RoutedRequest): Message | null;
  answer(routed: RoutedRequest, response: Message): RestAnswer | Promise<RestAnswer>;
  /** A refusal by the method. Absent: the usual one. */
  refusal?(routed: RoutedRequest, error: AdminError, requestId: string): RestAnswer;
}
