/** Platforms and types: names, icons and colors. Add a row to support another platform. */
import { BrainCircuit, CodeXml, Cylinder, Database, DatabaseZap, Eye, File, Layers, MountainSnow, Network, Package, Play, Radio, Table2, Warehouse, Workflow, type IconNode } from "lucide";
import { siApacheairflow, siApachekafka, siApachespark, siMlflow, siPostgresql } from "simple-icons";

export interface Platform {
  name: string;
  /** Shapes on a grid of 24 by 24: lines, or filled for brands. */
  icon: IconNode;
  isFilled: boolean;
  /** CSS color with a contrast of at least 3:1 in the light and the dark theme. */
  color: string;
  /** Patterns that a node of the platform must all match. */
  match: { platform?: RegExp; namespace?: RegExp; kind?: RegExp };
}

/** The fields of a node that determine its platform. */
export interface Described {
  kind: string;
  namespace: string;
  platform: string | null;
}

const brand = ({ path }: { path: string }): Pick<Platform, "icon" | "isFilled"> => ({ icon: [["path", { d: path }]], isFilled: true });
const lines = (icon: IconNode): Pick<Platform, "icon" | "isFilled"> => ({ icon, isFilled: false });
const both = (light: string, dark: string) => `light-dark(${light}, ${dark})`;

/** Platforms in order of precedence. Brand icons are from simple-icons (CC0), all others from lucide (ISC). */
export const PLATFORMS: readonly Platform[] = [
  { name: "Model", ...lines(BrainCircuit), color: both("#8a3ffc", "#c4a1ff"), match: { kind: /^model$/ } },
  { name: "Artifact", ...lines(Package), color: both("#a14a00", "#f2a65e"), match: { kind: /^artifact$/ } },
  { name: "Airflow", ...brand(siApacheairflow), color: both("#0277ce", "#8ad0ff"), match: { platform: /^airflow$/i } },
  { name: "Metaflow", ...lines(Workflow), color: both("#6a3fb5", "#b99cf2"), match: { platform: /^metaflow$/i } },
  { name: "Spark", ...brand(siApachespark), color: both("#cf4a12", "#f5865a"), match: { platform: /^spark$/i } },
  { name: "dbt", ...lines(Layers), color: both("#c8441f", "#ff8d6b"), match: { platform: /^dbt$/i } },
  { name: "MLflow", ...brand(siMlflow), color: both("#0177b0", "#43bdf5"), match: { platform: /^mlflow$/i } },
  { name: "Iceberg", ...lines(MountainSnow), color: both("#1473a8", "#6cc4f5"), match: { platform: /^iceberg$/i } },
  { name: "Glue", ...lines(DatabaseZap), color: both("#7d3fc2", "#bd93f0"), match: { namespace: /^(arn:aws[\w-]*:glue|glue):/ } },
  { name: "Redshift", ...lines(Warehouse), color: both("#6b4fd8", "#ab9bff"), match: { namespace: /^redshift:/ } },
  { name: "Kafka", ...brand(siApachekafka), color: both("#3a3638", "#d6d3d5"), match: { namespace: /^kafka:/ } },
  { name: "Postgres", ...brand(siPostgresql), color: both("#3457c9", "#8ea8ff"), match: { namespace: /^postgres(ql)?:/ } },
  { name: "S3", ...lines(Cylinder), color: both("#3f7d20", "#86cc5f"), match: { namespace: /^s3[an]?:/ } },
  { name: "Hive", ...lines(Database), color: both("#8a6d00", "#e2bf3c"), match: { namespace: /^hive:/ } },
  { name: "File", ...lines(File), color: both("#5d616d", "#a0a4b0"), match: { kind: /^file$/ } },
  { name: "Stream", ...lines(Radio), color: both("#5d616d", "#a0a4b0"), match: { kind: /^stream$/ } },
  { name: "View", ...lines(Eye), color: both("#5d616d", "#a0a4b0"), match: { kind: /^view$/ } },
  { name: "Pipeline", ...lines(Network), color: both("#4950c4", "#9ba1ff"), match: { kind: /^pipeline$/ } },
  { name: "Task", ...lines(Play), color: both("#4950c4", "#9ba1ff"), match: { kind: /^(task|run)$/ } },
  { name: "Query", ...lines(CodeXml), color: both("#4950c4", "#9ba1ff"), match: { kind: /^query$/ } },
];

const OTHER: Platform = { name: "Table", ...lines(Table2), color: both("#5d616d", "#a0a4b0"), match: {} };

/** Return the platform of a node, or its type if the platform is unknown. */
export function platformOf(node: Described): Platform {
  return PLATFORMS.find(({ match }) => (["platform", "namespace", "kind"] as const).every((key) => match[key]?.test(node[key] ?? "") ?? true)) ?? OTHER;
}

/** Return the platform and the type as text: Airflow task, Iceberg table, Model. */
export function kindText(node: Described): string {
  const { name } = platformOf(node);
  const type = node.kind || "table";
  return name.toLowerCase() === type ? name : `${name} ${type}`;
}
