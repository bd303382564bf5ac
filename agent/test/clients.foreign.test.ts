// Foreign clients through the embedded engine.
import { clientTests } from './clients/deeds.ts';
import { startEmbeddedNode } from './embedded_node.ts';

clientTests('the embedded engine', startEmbeddedNode);
