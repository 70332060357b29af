import { lazy, Suspense, type ReactNode } from "react";
import { useLive } from "../api/live";
import { StartPage } from "../features/start/StartPage";
import { useAddress } from "./address";
import { Header } from "./Header";

// The start page paints without the graph's code.
const LineagePage = lazy(() => import("../features/lineage/LineagePage"));

export function App(): ReactNode {
  const isLive = useLive();
  const isLineage = useAddress().pathname === "/lineage";
  return (
    <>
      <Header isLive={isLive} hasSearch={isLineage} />
      {isLineage ? (
        <Suspense fallback={<p className="waiting">Opening the graph …</p>}>
          <LineagePage />
        </Suspense>
      ) : (
        <StartPage />
      )}
    </>
  );
}
