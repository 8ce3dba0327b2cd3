"""Fits by LBFGS with line search: a Gaussian process's marginal likelihood by Cholesky, and Rosenbrock's valley."""
import torch
from drawn import data

x = torch.linspace(-2, 2, 15)
y = torch.sin(2 * x) + 0.1 * data(1, 15)
log_scale, log_length, log_noise = (torch.tensor(v, requires_grad=True) for v in (0.0, -0.3, -2.0))
losses = []


def kernel(a, b):
    return log_scale.exp() * torch.exp(-0.5 * (a[:, None] - b[None]) ** 2 / log_length.exp() ** 2)


def likelihood():
    covariance = kernel(x, x) + log_noise.exp() * torch.eye(15)
    factor = torch.linalg.cholesky(covariance)
    alpha = torch.cholesky_solve(y[:, None], factor)
    return 0.5 * (y @ alpha).sum() + factor.diagonal().log().sum() + 7.5 * torch.log(torch.tensor(2 * torch.pi))


optimizer = torch.optim.LBFGS([log_scale, log_length, log_noise], lr=0.5, max_iter=8, history_size=5, line_search_fn="strong_wolfe")


def closure():
    optimizer.zero_grad()
    loss = likelihood()
    loss.backward()
    losses.append(loss.item())
    return loss


for _ in range(2):
    optimizer.step(closure)
gaussian = torch.distributions.MultivariateNormal(torch.zeros(15), kernel(x, x) + log_noise.exp() * torch.eye(15))
losses.append(-gaussian.log_prob(y).item())

point = torch.tensor([-1.2, 1.0], requires_grad=True)
valley = torch.optim.LBFGS([point], lr=0.1, max_iter=10, tolerance_grad=1e-12)


def rosenbrock():
    valley.zero_grad()
    loss = (1 - point[0]) ** 2 + 100 * (point[1] - point[0] ** 2) ** 2
    loss.backward()
    return loss


for _ in range(3):
    losses.append(valley.step(rosenbrock).item())
curvature = torch.autograd.functional.hessian(lambda p: (1 - p[0]) ** 2 + 100 * (p[1] - p[0] ** 2) ** 2, point.detach())
losses.append(torch.linalg.eigvalsh(curvature).sum().item())
solution = torch.linalg.lstsq(torch.stack([x ** k for k in range(4)], 1), y).solution
losses += solution.tolist()
