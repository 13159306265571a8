import { type SecurityFlag, type SetFlags, securityFlags } from '../../../common/access/security-settings.js';
import { mergedDocument } from '../grpc/documents.js';

/** Flags that have a category of their own besides. */
const dataVisibility: readonly SecurityFlag[] = ['members_view_all_data', 'managers_view_all_data'];

/** What is set after a request with `security_settings`. */
export function flagsAfter(request: Parameters<typeof mergedDocument>[0], before: SetFlags): SetFlags {
  const flags = mergedDocument(request, 'security_settings', securityFlags, before);
  return mergedDocument(request, 'security_settings.data_visibility', dataVisibility, flags);
}
