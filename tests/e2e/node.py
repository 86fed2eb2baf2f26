"""A node of the tests: what kubelet and kube-proxy do for the chart's pods, with the image's content as the container.

Pods are those that the controllers make of the chart's Deployment. Each runs as a process with the arguments, the
environment and the mounted files of its container, and with the token of its ServiceAccount; a Service is a listener
at its cluster IP that hands connections to pods that say they are ready.
"""

import base64
import itertools
import os
import selectors
import socket
import subprocess
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

from tests.controlplane.cluster import ControlPlane
from tests.controlplane.processes import Child, free_ports
from tests.image.build import Image
from tests.patience import PATIENCE, wait

JSON = dict[str, Any]
NAMESPACE = "sluice-system"


class Node:
    """Runs what is in the release's namespace. `settle` brings processes in line with the pods that there are."""

    def __init__(self, plane: ControlPlane, image: Image, home: Path) -> None:
        """Nothing runs yet. `programs` and `roots` are those of other images, `elsewhere` stands for other paths."""
        self.plane, self.client, self.image, self.home = plane, plane.client, image, home
        self.programs: dict[str, list[str]] = {}
        self.roots: dict[str, Path] = {}
        self.elsewhere: dict[str, str] = {}
        self.pods: dict[str, RunningPod] = {}
        self._proxies: list[Proxy] = []
        self._count = itertools.count()

    def run_job(self, job: JSON) -> str:
        """Run the one container of a Job to its end, as its ServiceAccount, again where it fails as a Job does; raises
        RuntimeError with its output."""
        spec = job["spec"]["template"]["spec"]
        for _ in range(1 + job["spec"]["backoffLimit"]):
            folder = self.home / f"{job['metadata']['name']}-{next(self._count)}"
            command, environment = self._container(spec, spec["containers"][0], folder)
            done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
            if not done.returncode:
                return done.stdout
            time.sleep(1)
        raise RuntimeError(f"{job['metadata']['name']}: {done.returncode}\n{done.stdout}{done.stderr}")

    def settle(self) -> None:
        """Start a process for each new pod, wait until it is ready, then end those whose pods are gone.

        kwok calls a pod ready at once; that the old ones go last is what a true readiness would lead to. One that has
        the name of a new one goes first: a StatefulSet replaces it.
        """
        found = {p["metadata"]["uid"]: p for p in self._pods() if not p["metadata"].get("deletionTimestamp")}
        names = {pod["metadata"]["name"] for pod in found.values()}
        for uid in self.pods.keys() - found.keys():
            if self.pods[uid].name in names:
                self.pods.pop(uid).stop(60)
        for uid in found.keys() - self.pods.keys():
            name = found[uid]["metadata"]["name"]
            folder = self.home / uid
            spec = found[uid]["spec"]
            first, *others = ((c["name"], *self._container(spec, c, folder)) for c in spec["containers"])
            _, command, environment = first
            port, state = free_ports(2)
            environment |= {"SLUICE_IDENTITY": name, "SLUICE_LISTEN": f"127.0.0.1:{port}"}
            environment |= {"SLUICE_STATE_LISTEN": f"127.0.0.1:{state}", "SLUICE_LEASE_SECONDS": "15"}
            child = Child(f"{name}-{uid[:5]}", command, self.plane.logs, environment)
            pod = self.pods[uid] = RunningPod(name, child, port, state, spec["containers"][0]["image"])
            pod.sidecars = [Child(f"{child.name}-{of}", command, self.plane.logs, env) for of, command, env in others]
        for uid in found:
            wait(self.pods[uid].ready, f"{self.pods[uid].name} is ready")
        for uid in self.pods.keys() - found.keys():
            self.pods.pop(uid).stop(60)

    def serve(self, service: JSON) -> None:
        """Listen at the cluster IP of a Service, for its first port."""
        found = self.client.get(self.client.path_of(service))
        address = found["spec"]["clusterIP"], found["spec"]["ports"][0]["port"]
        self._proxies.append(Proxy(address, lambda: [pod.port for pod in list(self.pods.values()) if pod.ready()]))

    def serve_no_more(self) -> None:
        """Close the listeners of Services."""
        while self._proxies:
            self._proxies.pop().close()

    def stop(self) -> None:
        """End all processes and listeners."""
        for pod in self.pods.values():
            pod.stop(10)
        self.serve_no_more()

    def _pods(self) -> list[JSON]:
        path = f"/api/v1/namespaces/{NAMESPACE}/pods?labelSelector=app.kubernetes.io/name=sluice"
        return [p for p in self.client.items(path) if p["status"].get("phase") == "Running"]

    def _container(self, spec: JSON, container: JSON, folder: Path) -> tuple[list[str], dict[str, str]]:
        """The command and environment of a pod's container; paths of the container lead into `folder`."""
        volumes = {volume["name"]: volume for volume in spec.get("volumes") or []}
        mounts = {m["mountPath"]: volumes[m["name"]] for m in container.get("volumeMounts") or []}
        mounts = {path: volume for path, volume in mounts.items() if "serviceaccount" not in path}
        places = {**self.elsewhere, **{path: f"{self._root(volume, folder)}{path}" for path, volume in mounts.items()}}
        places |= {"/opt/sluice": f"{self.roots.get(container['image'], self.image.root)}/opt/sluice"}
        for path, volume in mounts.items():
            self._mount(Path(places[path]), volume, places)
        kubeconfig = self.kubeconfig(folder, spec["serviceAccountName"])
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("SLUICE_", "PYTHON"))}
        given = {e["name"]: e["value"] for e in container.get("env") or [] if "value" in e}
        arguments = [_placed(argument, places) for argument in container["args"]]
        command = self.programs.get(container["image"], self.image.command)
        return [*command, *arguments], {**kept, **given, "KUBECONFIG": str(kubeconfig)}

    def _root(self, volume: JSON, folder: Path) -> Path:
        """Where a volume is: what a claim is for outlives its pod."""
        claim = volume.get("persistentVolumeClaim")
        return self.home / "claims" / claim["claimName"] if claim else folder

    def kubeconfig(self, folder: Path, account: str) -> Path:
        """A kubeconfig in `folder` with the token of a ServiceAccount of the release's namespace."""
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / "kubeconfig"
        self.plane.write_kubeconfig(path, self._token(account))
        return path

    def _mount(self, place: Path, volume: JSON, places: dict[str, str]) -> None:
        place.mkdir(parents=True, exist_ok=True)
        if "configMap" in volume:
            path = f"/api/v1/namespaces/{NAMESPACE}/configmaps/{volume['configMap']['name']}"
            for name, text in self.client.get(path)["data"].items():
                (place / name).write_text(_placed(text, places))
        if "secret" in volume:
            path = f"/api/v1/namespaces/{NAMESPACE}/secrets/{volume['secret']['secretName']}"
            wait(lambda: self.client.request("GET", path).status == 200, f"{path} is there")
            data = self.client.get(path)["data"]
            items = volume["secret"].get("items") or [{"key": key, "path": key} for key in data]
            for item in items:
                (place / item["path"]).write_bytes(base64.b64decode(data[item["key"]]))

    def _token(self, account: str) -> str:
        path = f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts/{account}/token"
        request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
        return str(self.client.call("POST", path, request)["status"]["token"])


class RunningPod:
    """The process of one pod."""

    def __init__(self, name: str, child: Child, port: int, state: int, image: str) -> None:
        self.name, self.child, self.port, self.state, self.image = name, child, port, state, image
        self.sidecars: list[Child] = []

    def stop(self, patience: float) -> None:
        """End its processes."""
        for child in (self.child, *self.sidecars):
            child.stop(patience)

    def told(self, path: str) -> str:
        """What its state port answers."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.state}{path}", timeout=PATIENCE) as answer:
            return str(answer.read().decode())

    def ready(self) -> bool:
        """Its readiness probe; raises RuntimeError where the process has ended."""
        if not self.child.running:
            raise RuntimeError(f"{self.child.name} ended:\n{self.child.tail(40)}")
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.state}/readyz", timeout=30) as answer:
                return answer.status == 200
        except OSError:
            return False


def _placed(text: str, places: dict[str, str]) -> str:
    """Lead the container's paths into the folders that stand for them."""
    for path, place in places.items():
        text = text.replace(path, place)
    return text


class Proxy:
    """A listener that hands each connection to one of the ports that are ready, in turn."""

    def __init__(self, address: tuple[str, int], ports: Any) -> None:
        self._ports, self._turn = ports, itertools.count()
        self._listener = socket.create_server(address)
        self.port: int = self._listener.getsockname()[1]
        self._thread = threading.Thread(target=self._accept, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Listen no more; another may listen at the address then."""
        self._listener.shutdown(socket.SHUT_RDWR)  # ends the call in which the thread waits, which holds the address
        self._thread.join()
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._carry, args=(client,), daemon=True).start()

    def _carry(self, client: socket.socket) -> None:
        with client:
            try:
                ports = self._ports()
                with socket.create_connection(("127.0.0.1", ports[next(self._turn) % len(ports)])) as server:
                    _copy_both(client, server)
            except (OSError, ZeroDivisionError, RuntimeError):  # nobody is ready, or it ended
                return


def _copy_both(one: socket.socket, other: socket.socket) -> None:
    with selectors.DefaultSelector() as selector:
        for source, target in ((one, other), (other, one)):
            selector.register(source, selectors.EVENT_READ, target)
        while True:
            for key, _ in selector.select():
                data = key.fileobj.recv(65536)  # type: ignore[union-attr]
                if not data:
                    return
                key.data.sendall(data)
