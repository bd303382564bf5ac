// The embedded engine, by the scenarios that every engine must pass.
import { startEmbeddedNode } from './embedded_node.ts';
import { engineScenarios } from './scenarios.ts';

engineScenarios('the embedded engine', startEmbeddedNode);
